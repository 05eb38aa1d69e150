import type { CandidateRequests } from "./candidate-requests.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { Expiry, Lease } from "../store/lease-store.ts";
import { AcquireOrder, type PlaceInOrder } from "./acquire-order.ts";
import { nextMove, type Polled, type Situation } from "./next-move.ts";
import { PollRateLimit, PollTimer } from "./poll-timer.ts";
import { backoffMs, type CampaignBackoffOptions } from "./campaign-backoff.ts";
import { StoreShare } from "./store-share.ts";

export interface CampaignOptions extends CampaignBackoffOptions {
  readonly candidacy: CandidateRequests;
  readonly expiry: Expiry | undefined;
}

/** The result of a round: the lease, or a wait. A wake-up cuts `waitMs` short, and does not cut `pauseMs` short. */
type Round = { readonly lease: Lease } | { readonly waitMs: number } | { readonly pauseMs: number };

/** Gets the lease by polling, on a store that has no queue. {@link nextMove} decides; this class sends and waits. */
export class Campaign {
  readonly #options: CampaignOptions;
  readonly #signal: AbortSignal;
  readonly #polls: PollTimer;
  readonly #pollPace: PollRateLimit;
  /** Separate from the polls' pace, so that no attempt is delayed by the polls before it. */
  readonly #attemptPace: PollRateLimit;
  readonly #order: AcquireOrder;
  #isFirst = true;
  #isNew = false;
  #polled: Polled | undefined;
  #turn: PlaceInOrder | undefined;
  /** True if it is this candidate's turn. The next read is sent at once, and shows whether another candidate has acquired. */
  #confirms = false;
  /** The instant at which the last poll was sent, by the monotonic clock. */
  #sentMs = -Infinity;

  constructor(options: CampaignOptions, signal: AbortSignal) {
    const { store, election, clock, journal, timing } = options;
    const { retryPeriodMs, renewIntervalMs } = timing;
    this.#options = options;
    this.#signal = signal;
    this.#polls = new PollTimer({ store, election, clock, journal, retryPeriodMs, renewIntervalMs }, signal);
    this.#pollPace = new PollRateLimit(clock, timing);
    this.#attemptPace = new PollRateLimit(clock, timing);
    this.#order = new AcquireOrder(clock);
  }

  /** Resolves with the lease, or with `undefined` once the signal has aborted. The signal may also abort right after the win. */
  async win(): Promise<Lease | undefined> {
    const { starts } = StoreShare.of(this.#options.store, this.#options.clock);
    try {
      for (;;) {
        // A process may begin a thousand campaigns at once, so their first rounds take turns.
        const begun = this.#isFirst ? starts.take(() => this.#round(), this.#signal) : this.#round();
        const round = await begun.catch((error: unknown) => this.#failed(error));
        if ("lease" in round) return round.lease;
        if ("pauseMs" in round) await this.#polls.pause(round.pauseMs);
        else await this.#polls.wait(round.waitMs);
        this.#isFirst = false;
        this.#isNew = false;
      }
    } catch (error) {
      if (this.#signal.aborted) return undefined;
      throw error;
    } finally {
      this.#polls.stop();
    }
  }

  async #round(): Promise<Round> {
    for (;;) {
      const move = nextMove(this.#situation());
      switch (move.do) {
        case "pause":
          return { pauseMs: this.#pauseMs(move.ms) };
        case "read":
          await this.#poll();
          break;
        case "cool-down":
          return { waitMs: Math.min(this.#nextPollMs(), move.leftMs) };
        case "await-turn":
          await this.#awaitTurn(this.#polled as Polled);
          break;
        case "forget":
          this.#drop();
          this.#confirms = true;
          return { pauseMs: 0 };
        case "acquire":
          this.#signal.throwIfAborted();
          return await this.#acquire();
        case "prove":
          this.#pollPace.spend();
          await this.#options.candidacy.prove(this.#signal);
          return { waitMs: this.#nextPollMs() };
        case "wait":
          return { waitMs: this.#nextPollMs() };
      }
    }
  }

  #situation(): Situation {
    const { candidacy, contact, cooldown, clock } = this.#options;
    const snapshot = this.#polled?.snapshot;
    return {
      polled: this.#polled,
      isNew: this.#isNew,
      isFirst: this.#isFirst,
      turn: this.#turn,
      nowMs: clock.monotonicMs(),
      isPushed: this.#polls.isPushed,
      isWoken: this.#polls.wokenMs !== undefined,
      readInMs: this.#confirms ? 0 : this.#pollPace.waitMs,
      cooldownMs: cooldown.leftMs(snapshot),
      mayAcquire: candidacy.mayTry(snapshot),
      needsProof: contact.needsProof,
    };
  }

  async #awaitTurn({ snapshot, isWoken, knownMs, expiresMs }: Polled): Promise<void> {
    const { clock } = this.#options;
    const sinceMs = expiresMs === Infinity ? knownMs : expiresMs;
    this.#turn = this.#order.placeAfter(snapshot?.term ?? 0, { sinceMs, isWoken, isPushed: this.#polls.isPushed });
    const turnInMs = Math.max(this.#turn.atMs - clock.monotonicMs(), this.#jittered(this.#attemptPace.waitMs));
    if (turnInMs > 0) await this.#polls.pause(turnInMs);
  }

  async #acquire(): Promise<Round> {
    const { candidacy, expiry } = this.#options;
    this.#order.taken();
    this.#attemptPace.spend();
    this.#drop();
    const lease = await candidacy.attempt(expiry);
    return lease ? { lease } : { waitMs: this.#nextPollMs() };
  }

  async #poll(): Promise<void> {
    const { candidacy, clock, expiry } = this.#options;
    this.#drop();
    this.#pollPace.spend();
    const sentMs = clock.monotonicMs();
    this.#sentMs = sentMs;
    const { wokenMs } = this.#polls;
    this.#polls.polling();
    const snapshot = await candidacy.read(expiry, this.#signal);
    const tookMs = clock.monotonicMs() - sentMs;
    this.#order.tookMs(tookMs);
    this.#polls.polled(snapshot);
    const knownMs = (wokenMs ?? sentMs) + tookMs;
    this.#polled = { snapshot, isWoken: wokenMs !== undefined, sentMs, knownMs, expiresMs: this.#expiresMs(snapshot) };
    this.#isNew = true;
  }

  #drop(): void {
    this.#polled = undefined;
    this.#turn = undefined;
    this.#confirms = false;
  }

  /** Lengthens a wait at random, because candidates with equal options would otherwise act at the same instants. */
  #jittered(waitMs: number): number {
    return waitMs * (1 + this.#options.clock.random() / 2);
  }

  /** Lengthens a wait for the polls' pace at random. Two polls are still at most a retry period apart, as `timing()` says. */
  #pauseMs(waitMs: number): number {
    const { clock, timing } = this.#options;
    const leftMs = this.#sentMs + timing.retryPeriodMs - clock.monotonicMs();
    return Math.max(waitMs, Math.min(this.#jittered(waitMs), leftMs));
  }

  /** See {@link Polled}. Infinity on a store that judges expiry by itself, because the store must be asked. */
  #expiresMs(snapshot: LeaseSnapshot | undefined): number {
    const { clock, store } = this.#options;
    const { ageMs, leaseDurationMs, bar } = snapshot ?? {};
    if (store.capabilities.expiry === "native" || !ageMs || leaseDurationMs === undefined || bar?.kind !== "lease") {
      return Infinity;
    }
    return clock.monotonicMs() + leaseDurationMs - ageMs[0];
  }

  #nextPollMs(): number {
    const { store, election, clock, timing } = this.#options;
    const { retryPeriodMs } = timing;
    const aimedMs = store.nextLookMs(election, retryPeriodMs);
    const spreadMs = aimedMs + this.#order.spreadMs();
    const waitMs = this.#polls.isPushed ? spreadMs : Math.min(spreadMs, retryPeriodMs);
    // A poll whose reply comes only after the expiry would delay the acquisition.
    const expiresInMs = (this.#polled?.expiresMs ?? Infinity) - clock.monotonicMs();
    return expiresInMs > 0 && expiresInMs - waitMs < this.#order.roundTripMs ? expiresInMs : waitMs;
  }

  #failed(error: unknown): Round {
    if (this.#signal.aborted) throw error;
    this.#drop();
    return { pauseMs: backoffMs(this.#options, error) };
  }
}

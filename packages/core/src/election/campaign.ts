import type { Candidacy } from "./candidacy.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { Expiry, Lease } from "../store/lease-store.ts";
import { AcquireOrder } from "./acquire-order.ts";
import { LookPace } from "./look-pace.ts";
import { PollTimer } from "./poll-timer.ts";
import { Setbacks, type SetbackOptions } from "./setbacks.ts";
import type { StandingBack } from "./standing-back.ts";
import { Starts } from "./starts.ts";

export interface CampaignOptions extends SetbackOptions {
  readonly candidacy: Candidacy;
  readonly standingBack: StandingBack;
  readonly election: string;
  readonly expiry: Expiry | undefined;
}

/** The result of a step: the lease, or a wait before the next one, which a wake-up may cut short or not. */
type Step = { readonly lease: Lease } | { readonly waitMs: number } | { readonly pauseMs: number };

/** What a poll has shown. */
interface Polled {
  readonly snapshot: LeaseSnapshot | undefined;
  /** A wake-up led to it. */
  readonly isWoken: boolean;
  /** When the poll was sent, by the monotonic clock. */
  readonly sentMs: number;
  /** From when on this candidate could act on it, were it the only one: after the reply. By the monotonic clock. */
  readonly knownMs: number;
  /** When this process will have seen the nonce for its whole lease; Infinity where that is not the way to the lease. */
  readonly expiresMs: number;
}

/**
 * One candidate's way to the lease, by polling, where the store has no queue.
 *
 * A standby polls after each renewal, and whenever the store wakes it. It acquires in the order that it has drawn, since all
 * standbys learn of the end of a leader at the same instant. Once it has seen one nonce for the whole lease it acquires without
 * another read: the write is conditional on the version that it has seen.
 */
export class Campaign {
  readonly #options: CampaignOptions;
  readonly #signal: AbortSignal;
  readonly #polls: PollTimer;
  readonly #pollPace: LookPace;
  /** Apart, so that no attempt waits for polls to be made up for. */
  readonly #attemptPace: LookPace;
  readonly #order: AcquireOrder;
  readonly #setbacks: Setbacks;
  /** The first poll is acted on at once: only standbys that have waited learn of something at the same instant. */
  #isFirst = true;
  /** The last poll; none where something has failed since, or an attempt was made on it. */
  #last: Polled | undefined;

  constructor(options: CampaignOptions, signal: AbortSignal) {
    const { store, election, clock, journal, timing } = options;
    const { retryPeriodMs, renewIntervalMs } = timing;
    this.#options = options;
    this.#signal = signal;
    this.#polls = new PollTimer({ store, election, clock, journal, retryPeriodMs, renewIntervalMs }, signal);
    this.#pollPace = new LookPace(clock, timing);
    this.#attemptPace = new LookPace(clock, timing);
    this.#order = new AcquireOrder(clock);
    this.#setbacks = new Setbacks(options);
  }

  /**
   * Waits until the candidate has the lease. Returns `undefined` once the signal has aborted; it may still abort until the
   * caller goes on, who then gives the lease back.
   */
  async win(): Promise<Lease | undefined> {
    try {
      for (;;) {
        const step = await this.#nextStep().catch((error: unknown) => this.#failed(error));
        if ("lease" in step) return step.lease;
        if ("pauseMs" in step) await this.#polls.pause(step.pauseMs);
        else await this.#polls.wait(step.waitMs);
        this.#isFirst = false;
      }
    } catch (error) {
      if (this.#signal.aborted) return undefined;
      throw error;
    } finally {
      this.#polls.stop();
    }
  }

  /** The first in its turn: a process may begin a thousand campaigns at once. */
  #nextStep(): Promise<Step> {
    if (!this.#isFirst) return this.#step();
    return Starts.on(this.#options.store).take(() => this.#step(), this.#signal);
  }

  async #step(): Promise<Step> {
    const { candidacy, contact, standingBack } = this.#options;
    const isProven = this.#isProvenFree;
    if (!isProven) {
      const paceMs = this.#paceMs(this.#pollPace);
      if (paceMs > 0) return { pauseMs: paceMs };
      await this.#poll();
    }
    const { snapshot } = this.#last as Polled;
    const standBackMs = standingBack.leftMs(snapshot);
    if (standBackMs > 0) return { waitMs: Math.min(Math.max(this.#nextPollMs(), 1), standBackMs) };
    if (isProven || candidacy.mayTry(snapshot)) return await this.#acquire(this.#last as Polled);
    if (contact.needsProof) {
      this.#pollPace.spend();
      await candidacy.prove(this.#signal);
    }
    return { waitMs: this.#nextPollMs() };
  }

  /** Acquires when it is this candidate's turn, unless another one may have been before it: then it polls once more. */
  async #acquire({ snapshot, isWoken, sentMs, knownMs, expiresMs }: Polled): Promise<Step> {
    const { candidacy, clock, expiry } = this.#options;
    if (this.#signal.aborted) return { pauseMs: 0 };
    if (!this.#isFirst) {
      const sinceMs = expiresMs === Infinity ? knownMs : expiresMs;
      const place = this.#order.placeAfter(snapshot?.term ?? 0, { sinceMs, isWoken, isPushed: this.#polls.isPushed });
      const turnInMs = Math.max(place.atMs - clock.monotonicMs(), this.#paceMs(this.#attemptPace));
      if (turnInMs > 0) await this.#polls.pause(turnInMs);
      const isPolled = sentMs >= place.atMs;
      const wouldKnow = this.#polls.isPushed && this.#polls.wokenMs === undefined;
      if (!place.isFirst && !isPolled && !wouldKnow) {
        this.#last = undefined;
        return { pauseMs: 0 };
      }
    }
    this.#order.taken();
    this.#attemptPace.spend();
    this.#last = undefined;
    const lease = await candidacy.attempt(expiry);
    return lease ? { lease } : { waitMs: this.#nextPollMs() };
  }

  /** Reports whether this process has seen one nonce for a whole lease, and nothing says that there may be another one. */
  get #isProvenFree(): boolean {
    const { clock } = this.#options;
    return this.#last !== undefined && this.#polls.wokenMs === undefined && clock.monotonicMs() >= this.#last.expiresMs;
  }

  async #poll(): Promise<void> {
    const { candidacy, clock, expiry } = this.#options;
    this.#last = undefined;
    this.#pollPace.spend();
    const sentMs = clock.monotonicMs();
    const { wokenMs } = this.#polls;
    this.#polls.polling();
    const snapshot = await candidacy.look(expiry, this.#signal);
    const tookMs = clock.monotonicMs() - sentMs;
    this.#order.tookMs(tookMs);
    this.#polls.polled(snapshot);
    const knownMs = (wokenMs ?? sentMs) + tookMs;
    this.#last = { snapshot, isWoken: wokenMs !== undefined, sentMs, knownMs, expiresMs: this.#expiresMs(snapshot) };
  }

  /** The wait that a pace asks for, and more: candidates with equal options would else ask and attempt at the same instants. */
  #paceMs({ waitMs }: LookPace): number {
    return waitMs * (1 + this.#options.clock.random() / 2);
  }

  /** See {@link Polled}. A store that judges expiry by itself has to be asked. */
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
    // A poll whose reply comes only after the expiry would hold up the acquisition.
    const expiresInMs = (this.#last?.expiresMs ?? Infinity) - clock.monotonicMs();
    return expiresInMs > 0 && expiresInMs - waitMs < this.#order.roundTripMs ? expiresInMs : waitMs;
  }

  #failed(error: unknown): Step {
    if (this.#signal.aborted) throw error;
    this.#last = undefined;
    return { pauseMs: this.#setbacks.met(error) };
  }
}

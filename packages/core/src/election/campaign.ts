import type { CandidateRequests } from "./candidate-requests.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { Expiry, Lease } from "../store/lease-store.ts";
import { AcquireOrder } from "./acquire-order.ts";
import { PollRateLimit } from "./poll-rate-limit.ts";
import { PollTimer } from "./poll-timer.ts";
import { CampaignBackoff, type CampaignBackoffOptions } from "./campaign-backoff.ts";
import type { Cooldown } from "./cooldown.ts";
import { CampaignStartLimiter } from "./campaign-start-limiter.ts";

export interface CampaignOptions extends CampaignBackoffOptions {
  readonly candidacy: CandidateRequests;
  readonly cooldown: Cooldown;
  readonly election: string;
  readonly expiry: Expiry | undefined;
}

/**
 * The result of a step: the lease, or a wait before the next step. A wake-up cuts `waitMs` short, and does not cut `pauseMs`
 * short.
 */
type Step = { readonly lease: Lease } | { readonly waitMs: number } | { readonly pauseMs: number };

/** A poll and its reply. */
interface Polled {
  readonly snapshot: LeaseSnapshot | undefined;
  /** True if a wake-up caused the poll. */
  readonly isWoken: boolean;
  /** The instant at which the poll was sent, by the monotonic clock. */
  readonly sentMs: number;
  /** The instant after the reply from which this candidate could act, if it were the only one. By the monotonic clock. */
  readonly knownMs: number;
  /**
   * The instant at which this process will have observed the nonce for its whole lease, by the monotonic clock. Infinity if the
   * candidate cannot acquire that way.
   */
  readonly expiresMs: number;
}

/**
 * Gets the lease for one candidate by polling, on a store that has no queue.
 *
 * A standby polls after each renewal, and whenever the store wakes it. It acquires at its own drawn turn, because all standbys
 * learn of a leader's end at the same instant. After it has observed one nonce for the whole lease it acquires without another
 * read. The write is conditional on the version that it has read.
 */
export class Campaign {
  readonly #options: CampaignOptions;
  readonly #signal: AbortSignal;
  readonly #polls: PollTimer;
  readonly #pollPace: PollRateLimit;
  /** Separate from the polls' pace, so that no attempt is delayed by the polls before it. */
  readonly #attemptPace: PollRateLimit;
  readonly #order: AcquireOrder;
  readonly #backoff: CampaignBackoff;
  /** The first poll is acted on at once. Only standbys that have waited learn of something at the same instant. */
  #isFirst = true;
  /** The last poll; undefined after a failure, or after an attempt that used it. */
  #last: Polled | undefined;

  constructor(options: CampaignOptions, signal: AbortSignal) {
    const { store, election, clock, journal, timing } = options;
    const { retryPeriodMs, renewIntervalMs } = timing;
    this.#options = options;
    this.#signal = signal;
    this.#polls = new PollTimer({ store, election, clock, journal, retryPeriodMs, renewIntervalMs }, signal);
    this.#pollPace = new PollRateLimit(clock, timing);
    this.#attemptPace = new PollRateLimit(clock, timing);
    this.#order = new AcquireOrder(clock);
    this.#backoff = new CampaignBackoff(options);
  }

  /**
   * Waits until the candidate has the lease. Returns `undefined` once the signal has aborted. The signal may also abort before
   * the caller goes on, which then gives the lease back.
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

  /** Takes the next step. The first one waits for its turn, because a process may begin a thousand campaigns at once. */
  #nextStep(): Promise<Step> {
    if (!this.#isFirst) return this.#step();
    return CampaignStartLimiter.on(this.#options.store).take(() => this.#step(), this.#signal);
  }

  async #step(): Promise<Step> {
    const { candidacy, contact, cooldown } = this.#options;
    const isProven = this.#isProvenFree;
    if (!isProven) {
      const paceMs = this.#paceMs(this.#pollPace);
      if (paceMs > 0) return { pauseMs: paceMs };
      await this.#poll();
    }
    const { snapshot } = this.#last as Polled;
    const standBackMs = cooldown.leftMs(snapshot);
    if (standBackMs > 0) return { waitMs: Math.min(Math.max(this.#nextPollMs(), 1), standBackMs) };
    if (isProven || candidacy.mayTry(snapshot)) return await this.#acquire(this.#last as Polled);
    if (contact.needsProof) {
      this.#pollPace.spend();
      await candidacy.prove(this.#signal);
    }
    return { waitMs: this.#nextPollMs() };
  }

  /** Acquires at this candidate's turn. It polls once more instead if another candidate may have acquired before. */
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

  /**
   * Reports whether this process has observed one nonce for a whole lease. A wake-up that no poll has answered yet makes it
   * false, because there may be another nonce.
   */
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
    const snapshot = await candidacy.read(expiry, this.#signal);
    const tookMs = clock.monotonicMs() - sentMs;
    this.#order.tookMs(tookMs);
    this.#polls.polled(snapshot);
    const knownMs = (wokenMs ?? sentMs) + tookMs;
    this.#last = { snapshot, isWoken: wokenMs !== undefined, sentMs, knownMs, expiresMs: this.#expiresMs(snapshot) };
  }

  /**
   * Returns the wait that a pace asks for, lengthened at random. Otherwise candidates with equal options would poll and attempt
   * at the same instants.
   */
  #paceMs({ waitMs }: PollRateLimit): number {
    return waitMs * (1 + this.#options.clock.random() / 2);
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
    const expiresInMs = (this.#last?.expiresMs ?? Infinity) - clock.monotonicMs();
    return expiresInMs > 0 && expiresInMs - waitMs < this.#order.roundTripMs ? expiresInMs : waitMs;
  }

  #failed(error: unknown): Step {
    if (this.#signal.aborted) throw error;
    this.#last = undefined;
    return { pauseMs: this.#backoff.next(error) };
  }
}

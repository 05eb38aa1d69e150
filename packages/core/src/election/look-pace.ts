import type { Clock } from "../time/clock.ts";

/**
 * The number of requests that may follow one another at once, where those before were fewer: to learn the phase of a holder's
 * renewals takes eight looks.
 */
const BURST = 10;

/** The options of a standby's own that bound how often it looks. */
export interface PaceOptions {
  readonly retryPeriodMs: number;
  readonly renewIntervalMs: number;
}

/**
 * Keeps a standby's looks to what its own options allow, whatever anybody publishes. Looks are aimed at what the holder
 * says of itself: its renewals, its lease, its releases. Over time there are as many as a holder with this standby's own
 * options would give rise to (one every `retryPeriodMs` at least, and one after each renewal), and one more for each of
 * its renewals.
 */
export class LookPace {
  readonly #clock: Clock;
  readonly #spacingMs: number;
  /** The instant at which the next look would be due, were they spaced evenly. */
  #evenMs = -Infinity;

  constructor(clock: Clock, { retryPeriodMs, renewIntervalMs }: PaceOptions) {
    this.#clock = clock;
    this.#spacingMs = renewIntervalMs / (Math.ceil(renewIntervalMs / retryPeriodMs) + 1);
  }

  /** Returns the time until the next look may be sent; 0 if it may be now. */
  get waitMs(): number {
    return Math.max(this.#evenMs - (BURST - 1) * this.#spacingMs - this.#clock.monotonicMs(), 0);
  }

  /** Notes that a look is sent now. */
  spend(): void {
    this.#evenMs = Math.max(this.#evenMs, this.#clock.monotonicMs()) + this.#spacingMs;
  }
}

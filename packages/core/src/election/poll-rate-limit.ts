import type { Clock } from "../time/clock.ts";

/** The requests that may follow one another at once after a quiet time. To learn the phase of renewals takes eight polls. */
const BURST = 10;

export interface PaceOptions {
  readonly retryPeriodMs: number;
  readonly renewIntervalMs: number;
}

/** Limits a standby's polls to one more in each `renewIntervalMs` than a holder with its own options would cause. */
export class PollRateLimit {
  readonly #clock: Clock;
  readonly #spacingMs: number;
  /** The instant at which the next poll would be due if polls were spaced evenly. */
  #evenMs = -Infinity;

  constructor(clock: Clock, { retryPeriodMs, renewIntervalMs }: PaceOptions) {
    this.#clock = clock;
    this.#spacingMs = renewIntervalMs / (Math.ceil(renewIntervalMs / retryPeriodMs) + 1);
  }

  /** Returns the time until the next poll may be sent; 0 if it may be sent now. */
  get waitMs(): number {
    return Math.max(this.#evenMs - (BURST - 1) * this.#spacingMs - this.#clock.monotonicMs(), 0);
  }

  spend(): void {
    this.#evenMs = Math.max(this.#evenMs, this.#clock.monotonicMs()) + this.#spacingMs;
  }
}

import { systemClock, type Clock } from "@leasehold/core";
import { holderElapsedMs, instantOf, SAFETY_MARGIN, type Instant } from "@leasehold/core/provider";

/** The bound on how much the rates of this process's clock and Firestore's differ: the elector's margin assumes the same. */
const DRIFT = SAFETY_MARGIN;

/**
 * Firestore's own clock, bounded from above: the time in its last reply, and all that may have passed since that was
 * asked for, by the larger of this process's clocks.
 */
export class FirestoreClock {
  readonly #clock: Clock;
  #last: { readonly nanos: bigint; readonly sentAt: Instant } | undefined;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Notes that a request is sent now. The function that it returns takes the time in the reply. */
  asking(): (nanos: bigint) => void {
    const sentAt = instantOf(this.#clock);
    return (nanos) => {
      this.#last = { nanos, sentAt };
    };
  }

  /** Returns the latest that the clock may show now, in nanoseconds since the epoch; `undefined` before the first reply. */
  latest(): bigint | undefined {
    if (!this.#last) return undefined;
    const { nanos, sentAt } = this.#last;
    return nanos + nanosIn(holderElapsedMs(this.#clock, sentAt) * (1 + DRIFT));
  }
}

/** Returns a duration in nanoseconds, rounded up to milliseconds. */
export function nanosIn(durationMs: number): bigint {
  return BigInt(Math.ceil(durationMs)) * 1_000_000n;
}

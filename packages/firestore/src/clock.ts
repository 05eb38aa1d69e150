import { systemClock, type Clock, holderElapsedMs, instantOf, SAFETY_MARGIN, type Instant } from "@leasehold/core/provider";

/**
 * The largest difference that is assumed between the rates of this process's clock and Firestore's. The elector's margin assumes
 * the same.
 */
const DRIFT = SAFETY_MARGIN;

/**
 * An upper bound of Firestore's own clock. It is the time in the last reply, plus the time that may have passed since its request
 * was sent. The elapsed time is that of the wall clock or the monotonic clock of this process, whichever moved further.
 */
export class FirestoreClock {
  readonly #clock: Clock;
  #last: { readonly nanos: bigint; readonly sentAt: Instant } | undefined;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Records that a request is sent now. Pass the time in the request's reply to the returned function. */
  asking(): (nanos: bigint) => void {
    const sentAt = instantOf(this.#clock);
    return (nanos) => {
      this.#last = { nanos, sentAt };
    };
  }

  /**
   * Returns the latest time that Firestore's clock may show now, in nanoseconds since the epoch; `undefined` before the first
   * reply.
   */
  latest(): bigint | undefined {
    if (!this.#last) return undefined;
    const { nanos, sentAt } = this.#last;
    return nanos + nanosIn(holderElapsedMs(this.#clock, sentAt) * (1 + DRIFT));
  }
}

/** Returns a duration in nanoseconds, rounded up to whole milliseconds. */
export function nanosIn(durationMs: number): bigint {
  return BigInt(Math.ceil(durationMs)) * 1_000_000n;
}

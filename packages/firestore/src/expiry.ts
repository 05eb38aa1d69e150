import { systemClock, type Clock } from "@leasehold/core";
import { holderElapsedMs, instantOf, SAFETY_MARGIN, type Instant } from "@leasehold/core/provider";

/** The bound on how much the rates of this process's clock and Firestore's differ: the elector's margin assumes the same. */
const DRIFT = SAFETY_MARGIN;
/** Longer than a commit is under way; what deletes expired documents takes up to a day anyway. */
const GRACE_MS = 3_600_000;

/**
 * When an occurrence that is written now may be deleted, by Firestore's clock. A commit cannot add to the time at which
 * it is carried out, so this adds to the time of the last reply, and errs on the late side: it counts from when that
 * reply was asked for, by the larger of both clocks.
 */
export class Expiry {
  readonly #retentionMs: number;
  readonly #clock: Clock;
  #last: { readonly nanos: bigint; readonly sentAt: Instant } | undefined;

  constructor(retentionMs: number, clock: Clock = systemClock) {
    this.#retentionMs = retentionMs;
    this.#clock = clock;
  }

  /** To be called before a request; what it returns, with the time in the reply. */
  asking(): (nanos: bigint) => void {
    const sentAt = instantOf(this.#clock);
    return (nanos) => {
      this.#last = { nanos, sentAt };
    };
  }

  /** In nanoseconds since the epoch; `undefined` where no reply has told the time yet. */
  next(): bigint | undefined {
    if (!this.#last) return undefined;
    const { nanos, sentAt } = this.#last;
    const elapsedMs = holderElapsedMs(this.#clock, sentAt) * (1 + DRIFT);
    return nanos + BigInt(Math.ceil(elapsedMs + this.#retentionMs + GRACE_MS)) * 1_000_000n;
  }
}

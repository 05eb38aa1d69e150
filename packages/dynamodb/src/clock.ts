import { type Clock, DATE_GRAIN_MS, holderElapsedMs, SAFETY_MARGIN, type Instant, type Interval } from "@leasehold/core/provider";

/** The largest difference that is assumed between the clocks of the service's own machines. */
export const TOLERANCE_MS = 1_000;
/**
 * The largest difference that is assumed between the rates of this process's clock and the service's. The elector's margin
 * assumes the same.
 */
const DRIFT = SAFETY_MARGIN;

/**
 * Bounds of DynamoDB's own clock, in milliseconds since the Unix epoch, taken from the `Date` headers of its replies.
 *
 * - The lower bound advances from the arrival of a reply, by the monotonic clock.
 * - The upper bound advances from the sending of its request, by the wall clock or the monotonic clock, whichever moved further.
 *
 * If this process is suspended or its wall clock is set, the lower bound can only become too low, and the upper bound too high.
 * Only the movement of this process's clocks counts, never the time that they show.
 *
 * Core's `ServiceClock` cannot replace this class. `ServiceClock` serves to time requests, so it allows for little drift and for
 * no suspension. An expiry by the bounds of this class is a proof.
 */
export class DynamoDBClock {
  readonly #clock: Clock;
  #lower: { readonly ms: number; readonly inMs: number } | undefined;
  #upper: { readonly ms: number; readonly sentAt: Instant } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records the `Date` of a reply that has just arrived. @param sentAt when its request was sent. */
  sample(dateMs: number, sentAt: Instant): void {
    // A header that is not a date gives no bounds.
    if (!Number.isFinite(dateMs)) return;
    const before = this.bounds();
    const lower = { ms: dateMs, inMs: this.#clock.monotonicMs() };
    const upper = { ms: dateMs + DATE_GRAIN_MS, sentAt };
    if (!before || dateMs >= before.lo) this.#lower = lower;
    if (!before || upper.ms + this.#elapsedMs(sentAt) <= before.hi) this.#upper = upper;
    const now = this.bounds();
    // The replies contradict each other: a clock stepped, or another server than DynamoDB answered. Neither reply is believed.
    // Without one bound, the other bound is not used either.
    if (now && now.lo > now.hi) this.#lower = undefined;
  }

  /** Returns bounds of the service's present time; `undefined` before the first usable reply, and after a contradiction. */
  bounds(): Interval | undefined {
    if (!this.#lower || !this.#upper) return undefined;
    const lo = this.#lower.ms + (this.#clock.monotonicMs() - this.#lower.inMs) * (1 - DRIFT);
    const hi = this.#upper.ms + this.#elapsedMs(this.#upper.sentAt);
    return { lo: lo - TOLERANCE_MS / 2, hi: hi + TOLERANCE_MS / 2 };
  }

  #elapsedMs(since: Instant): number {
    return holderElapsedMs(this.#clock, since) * (1 + DRIFT);
  }
}

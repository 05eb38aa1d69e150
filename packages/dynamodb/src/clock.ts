import type { Clock } from "@leasehold/core";
import { DATE_GRAIN_MS, holderElapsedMs, SAFETY_MARGIN, type Instant, type Interval } from "@leasehold/core/provider";

/** The most by which the clocks of the service's own machines are trusted to differ. */
export const TOLERANCE_MS = 1_000;
/** The bound on how much the rates of this process's clock and the service's differ: the elector's margin assumes the same. */
const DRIFT = SAFETY_MARGIN;

/**
 * DynamoDB's own clock, in milliseconds since the Unix epoch, as far as the `Date` headers of its replies bound it. The
 * lower bound counts from when a reply was in, by the monotonic clock; the upper one from when its request was sent, by
 * the larger of both clocks: each errs to its own side while this process is suspended or its wall clock is set. What
 * this process's clocks show never enters, only how far they move.
 *
 * Core's `ServiceClock` cannot serve here: it aims requests, and so allows for little drift and for no suspension; an
 * expiry by these bounds is a proof.
 */
export class DynamoDBClock {
  readonly #clock: Clock;
  #lower: { readonly ms: number; readonly inMs: number } | undefined;
  #upper: { readonly ms: number; readonly sentAt: Instant } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes the `Date` of a reply that has just come in, and when its request was sent. */
  sample(dateMs: number, sentAt: Instant): void {
    // A date that is none teaches nothing.
    if (!Number.isFinite(dateMs)) return;
    const before = this.bounds();
    const lower = { ms: dateMs, inMs: this.#clock.monotonicMs() };
    const upper = { ms: dateMs + DATE_GRAIN_MS, sentAt };
    if (!before || dateMs >= before.lo) this.#lower = lower;
    if (!before || upper.ms + this.#elapsedMs(sentAt) <= before.hi) this.#upper = upper;
    const now = this.bounds();
    // Replies that contradict each other: a clock that stepped, or a stranger's answer. None of them is believed: one bound alone
    // says nothing.
    if (now && now.lo > now.hi) this.#lower = undefined;
  }

  /** Returns bounds of the service's time at present; `undefined` where nothing is known of it. */
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

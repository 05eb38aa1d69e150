import { AIM_DRIFT, intersect, middle, shift, widen, width, type Interval } from "./interval.ts";

/** A date in an HTTP header names a second: the service's clock was anywhere in it. */
export const DATE_GRAIN_MS = 1_000;

/**
 * A service's own clock, as a process learns it from the `Date` headers of replies: an interval for the difference
 * between that clock and this process's monotonic one, narrowed by every reply and widened by drift as time passes.
 * Replies that contradict each other start it anew. No wall clock takes part.
 *
 * It aims requests and proves nothing: it allows for what clocks really drift. A proof of expiry needs bounds that hold
 * while this process is suspended and its clock runs a tenth wrong, as DynamoDB's record store has them; by those, ten
 * seconds after a reply, no request could be aimed any more.
 */
export class ServiceClock {
  /** Service time minus monotonic time. */
  #offset: Interval | undefined;
  #atMs = 0;

  /** Notes a reply: the `Date` it carried, and when by the monotonic clock its request was sent and it was received. */
  sample(dateMs: number, sentMs: number, receivedMs: number): void {
    // A date that is none, or that a proxy made up, teaches nothing.
    if (!Number.isFinite(dateMs)) return;
    const seen = { lo: dateMs - receivedMs, hi: dateMs + DATE_GRAIN_MS - sentMs };
    const known = this.#at(receivedMs);
    this.#offset = (known && intersect(known, seen)) ?? seen;
    this.#atMs = receivedMs;
  }

  /** Returns by how many milliseconds the service's clock may be off what is known of it; Infinity before the first reply. */
  uncertaintyMs(nowMs: number): number {
    const offset = this.#at(nowMs);
    return offset ? width(offset) : Infinity;
  }

  /** The service's time at a monotonic instant. */
  toService(monotonicMs: number, nowMs: number): Interval | undefined {
    const offset = this.#at(nowMs);
    return offset && shift(offset, monotonicMs);
  }

  /** The monotonic instants at which the service's clock may show `service`. */
  toMonotonic(service: Interval, nowMs: number): Interval | undefined {
    const offset = this.#at(nowMs);
    return offset && { lo: service.lo - offset.hi, hi: service.hi - offset.lo };
  }

  /**
   * The first monotonic instant from `fromMs` on at which a request would halve the uncertainty: where the service's second
   * should turn.
   */
  sharpeningMs(fromMs: number): number {
    const offset = this.#offset ?? { lo: 0, hi: 0 };
    const intoSecond = (((fromMs + middle(offset)) % DATE_GRAIN_MS) + DATE_GRAIN_MS) % DATE_GRAIN_MS;
    return fromMs + ((DATE_GRAIN_MS - intoSecond) % DATE_GRAIN_MS);
  }

  #at(nowMs: number): Interval | undefined {
    return this.#offset && widen(this.#offset, Math.max(nowMs - this.#atMs, 0) * AIM_DRIFT);
  }
}

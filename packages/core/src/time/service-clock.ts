import { AIM_DRIFT, intersect, middle, shift, widen, width, type Interval } from "./interval.ts";

/** A date in an HTTP header names a whole second. The service's clock was somewhere in that second. */
export const DATE_GRAIN_MS = 1_000;
/** The largest difference that is assumed between the clocks of a service's own machines. */
const SKEW_MS = 1_000;
/** The largest error of an age that is the difference of two dates. One machine dates the reply, another one the object. */
export const AGE_UNCERTAINTY_MS: number = DATE_GRAIN_MS + SKEW_MS;

/** Returns bounds of an age: a reply's date minus the object's date. `undefined` if the dates are missing or contradictory. */
export function boundsOfAge(ageMs: number): readonly [min: number, max: number] | undefined {
  if (!(ageMs >= -AGE_UNCERTAINTY_MS)) return undefined;
  return [Math.max(ageMs - AGE_UNCERTAINTY_MS, 0), ageMs + AGE_UNCERTAINTY_MS];
}

/**
 * A service's own clock, by the `Date` headers of replies: an interval for its difference to the monotonic clock. Each reply
 * narrows the interval, and drift widens it. A contradictory reply replaces it. This estimate only times requests, and proves
 * nothing: it assumes the drift of real clocks.
 */
export class ServiceClock {
  /** Service time minus monotonic time. */
  #offset: Interval | undefined;
  #atMs = 0;

  sample(dateMs: number, sentMs: number, receivedMs: number): void {
    if (!Number.isFinite(dateMs)) return;
    const seen = { lo: dateMs - receivedMs, hi: dateMs + DATE_GRAIN_MS - sentMs };
    const known = this.#at(receivedMs);
    this.#offset = (known && intersect(known, seen)) ?? seen;
    this.#atMs = receivedMs;
  }

  /** Returns the uncertainty about the service's clock, in milliseconds. Infinity before the first reply. */
  uncertaintyMs(nowMs: number): number {
    const offset = this.#at(nowMs);
    return offset ? width(offset) : Infinity;
  }

  /** Returns the service's time at a monotonic instant; `undefined` before the first reply. */
  toService(monotonicMs: number, nowMs: number): Interval | undefined {
    const offset = this.#at(nowMs);
    return offset && shift(offset, monotonicMs);
  }

  /** Returns the monotonic instants at which the service's clock may show `service`; `undefined` before the first reply. */
  toMonotonic(service: Interval, nowMs: number): Interval | undefined {
    const offset = this.#at(nowMs);
    return offset && { lo: service.lo - offset.hi, hi: service.hi - offset.lo };
  }

  /** Returns the first instant from `fromMs` at which a request would halve the uncertainty: the service's next whole second. */
  sharpeningMs(fromMs: number): number {
    const offset = this.#offset ?? { lo: 0, hi: 0 };
    const intoSecond = (((fromMs + middle(offset)) % DATE_GRAIN_MS) + DATE_GRAIN_MS) % DATE_GRAIN_MS;
    return fromMs + ((DATE_GRAIN_MS - intoSecond) % DATE_GRAIN_MS);
  }

  #at(nowMs: number): Interval | undefined {
    return this.#offset && widen(this.#offset, Math.max(nowMs - this.#atMs, 0) * AIM_DRIFT);
  }
}

import { holderElapsedMs, type Clock, type Instant } from "../time/clock.ts";
import type { Timing } from "./timing.ts";

/** The rest of a lease for its holder: counted from the send of the last good request, by the larger of two clocks. */
export class Validity {
  readonly #clock: Clock;
  readonly #timing: Timing;
  #grantedAt: Instant;

  constructor(clock: Clock, timing: Timing, grantedAt: Instant) {
    this.#clock = clock;
    this.#timing = timing;
    this.#grantedAt = grantedAt;
  }

  /** From before the send of the last request known to have extended the lease. */
  get grantedAt(): Instant {
    return this.#grantedAt;
  }

  /** Counts from this send, unless it counts from a later one already: then it returns false. */
  extend(sentAt: Instant): boolean {
    if (sentAt.monotonicMs <= this.#grantedAt.monotonicMs) return false;
    this.#grantedAt = sentAt;
    return true;
  }

  get elapsedMs(): number {
    return holderElapsedMs(this.#clock, this.#grantedAt);
  }

  /** The time until the signal aborts; negative from then on. */
  get toRenewDeadlineMs(): number {
    return this.#timing.renewDeadlineMs - this.elapsedMs;
  }

  /** The time until the leadership is over; negative from then on. */
  get toEndMs(): number {
    return this.#timing.validForMs - this.elapsedMs;
  }
}

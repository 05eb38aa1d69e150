import type { Clock } from "../time/clock.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";

/** Waits, once a failover has undone a term, for the longest observed lease from the first read of the lower term. */
export class RolledBackTerms {
  readonly #clock: Clock;
  #longestLeaseMs: number;
  /** The first read of the lower term, by the monotonic clock. */
  #lowerSinceMs: number | undefined;

  /** @param leaseMs the shortest time to wait. */
  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#longestLeaseMs = leaseMs;
  }

  saw(snapshot: LeaseSnapshot | undefined, isLower: boolean): void {
    this.#longestLeaseMs = Math.max(this.#longestLeaseMs, snapshot?.leaseDurationMs ?? 0);
    if (!isLower) this.#lowerSinceMs = undefined;
    else this.#lowerSinceMs ??= this.#clock.monotonicMs();
  }

  /** Reports whether the wait is over, or there is nothing to wait for. */
  get isOver(): boolean {
    return this.#lowerSinceMs === undefined || this.#clock.monotonicMs() - this.#lowerSinceMs >= this.#longestLeaseMs;
  }

  /** Reports whether the store shows a lower term, and the wait for the higher one is over. */
  get isWaitedOut(): boolean {
    return this.#lowerSinceMs !== undefined && this.isOver;
  }
}

import type { Clock } from "../time/clock.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";

/**
 * Waits out a term that this process saw and that the store no longer shows, on a store whose failover may undo what was never
 * acknowledged. The wait is one whole lease, the longest that this process has seen, from the first sight of the lower term. By
 * then a leader of the higher term is over, if there ever was one.
 */
export class RolledBackTerms {
  readonly #clock: Clock;
  #longestLeaseMs: number;
  /** The first sight of the lower term, by the monotonic clock. */
  #lowerSinceMs: number | undefined;

  /** @param leaseMs the least time to wait. */
  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#longestLeaseMs = leaseMs;
  }

  /** Takes in what was seen. `isLower`: its term is below one that was seen before. */
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

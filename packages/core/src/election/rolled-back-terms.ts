import type { Clock } from "../time/clock.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";

/**
 * Waits until a term must be over that this process observed and that the store no longer shows. This happens on a store whose
 * failover may undo writes that were never acknowledged.
 *
 * The wait is one whole lease, the longest that this process has observed. It begins at the first read of the lower term. After
 * it, a leader of the higher term is over, if there ever was one.
 */
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

  /** Processes a reply. `isLower` is true if its term is below one that was observed before. */
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

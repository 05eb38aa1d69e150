import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { Clock } from "../time/clock.ts";
import { ExpiringMap } from "../time/expiring-map.ts";

interface Terms {
  readonly seen: number;
  /** The highest term that this process has led: the store has acknowledged the acquisition. */
  readonly led: number;
}

const NONE: Terms = { seen: 0, led: 0 };

/** The terms that this process has lately observed in a store. They show its electors when a record goes back. */
export class SeenTerms {
  readonly #byElection: ExpiringMap<Terms>;

  constructor(clock: Clock) {
    this.#byElection = new ExpiringMap(clock);
  }

  highest(election: string): Terms {
    return this.#byElection.get(election) ?? NONE;
  }

  note(election: string, term: number, isLed = false): void {
    const { seen, led } = this.highest(election);
    if (term > seen || isLed)
      this.#byElection.set(election, { seen: Math.max(term, seen), led: isLed ? Math.max(term, led) : led });
  }
}

/** Waits after a failover has undone a term: for the longest observed lease, from the first read of the lower term. */
export class RolledBackTerms {
  readonly #clock: Clock;
  #longestLeaseMs: number;
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

  get isOver(): boolean {
    return this.#lowerSinceMs === undefined || this.#clock.monotonicMs() - this.#lowerSinceMs >= this.#longestLeaseMs;
  }

  get isWaitedOut(): boolean {
    return this.#lowerSinceMs !== undefined && this.isOver;
  }
}

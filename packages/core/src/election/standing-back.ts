import { sleep, type Clock } from "../time/clock.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";

/**
 * The least wait between two terms of one `run`, whatever its options. On a store in this very process, a task that
 * returns at once would else run for ever in microtasks, and no timer and no reply would get its turn.
 */
const SHORTEST_PAUSE_MS = 100;

/** The time for which an elector leaves the election to others after a term of its own. */
export class StandingBack {
  readonly #clock: Clock;
  readonly #cooldownMs: number;
  /** The last term of this elector, and when it ended by the monotonic clock. */
  #term = 0;
  #endedMs = -Infinity;

  constructor(clock: Clock, cooldownMs: number) {
    this.#clock = clock;
    this.#cooldownMs = cooldownMs;
  }

  /** Notes that a term of this elector has ended. */
  ended(term: number): void {
    this.#term = term;
    this.#endedMs = this.#clock.monotonicMs();
  }

  /** Returns the time for which this candidate does not compete: until the cooldown has passed, or it sees a newer term. */
  leftMs(snapshot: LeaseSnapshot | undefined): number {
    if ((snapshot?.term ?? 0) > this.#term) return 0;
    return Math.max(this.#endedMs + this.#cooldownMs - this.#clock.monotonicMs(), 0);
  }

  /** Waits for the short time that has to pass after a term, whoever has led since, or until the signal aborts. */
  async pause(signal: AbortSignal): Promise<void> {
    const leftMs = this.#endedMs + SHORTEST_PAUSE_MS - this.#clock.monotonicMs();
    if (leftMs > 0) await sleep(this.#clock, leftMs, signal).catch(() => undefined);
  }
}

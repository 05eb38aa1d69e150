import { sleep, type Clock } from "../time/clock.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";

/**
 * The least wait between two terms of one `run`, whatever its options. On a store in this very process, a task that
 * returns at once would else run for ever in microtasks, and no timer and no reply would get its turn.
 */
const SHORTEST_PAUSE_MS = 100;

/** The cooldown: the time for which an elector that gave up a term leaves the election to others. A lease that was lost triggers none. */
export class StandingBack {
  readonly #clock: Clock;
  readonly #cooldownMs: number;
  /** The last term of this elector. */
  #term = 0;
  /** When it ended, and when one was given up last, by the monotonic clock. */
  #endedMs = -Infinity;
  #gaveUpMs = -Infinity;

  constructor(clock: Clock, cooldownMs: number) {
    this.#clock = clock;
    this.#cooldownMs = cooldownMs;
  }

  /** Notes that a term of this elector has ended. @param gaveUp it was given up, and not lost. */
  ended(term: number, gaveUp: boolean): void {
    this.#term = term;
    this.#endedMs = this.#clock.monotonicMs();
    if (gaveUp) this.#gaveUpMs = this.#endedMs;
  }

  /** Returns the time for which this candidate does not compete: until the cooldown has passed, or it sees a newer term. */
  leftMs(snapshot: LeaseSnapshot | undefined): number {
    if ((snapshot?.term ?? 0) > this.#term) return 0;
    return Math.max(this.#gaveUpMs + this.#cooldownMs - this.#clock.monotonicMs(), 0);
  }

  /**
   * Waits for the short time that has to pass after a term, whoever has led since, or until the signal aborts.
   * @param leastMs the time that has to pass for a reason of the caller's, if that is longer.
   */
  async pause(signal: AbortSignal, leastMs = 0): Promise<void> {
    const leftMs = this.#endedMs + Math.max(SHORTEST_PAUSE_MS, leastMs) - this.#clock.monotonicMs();
    if (leftMs > 0) await sleep(this.#clock, leftMs, signal).catch(() => undefined);
  }
}

import { sleep, type Clock } from "../time/clock.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";

/** The shortest wait between two terms of one `run`. A task that returns at once must not run for ever in microtasks. */
const SHORTEST_PAUSE_MS = 100;

/** The cooldown: the time for which an elector that gave up a term leaves the election to others. A lost lease causes none. */
export class Cooldown {
  readonly #clock: Clock;
  readonly #cooldownMs: number;
  #term = 0;
  /** The end of `#term`, and the end of the last term that was given up, by the monotonic clock. */
  #endedMs = -Infinity;
  #gaveUpMs = -Infinity;

  constructor(clock: Clock, cooldownMs: number) {
    this.#clock = clock;
    this.#cooldownMs = cooldownMs;
  }

  ended(term: number, gaveUp: boolean): void {
    this.#term = term;
    this.#endedMs = this.#clock.monotonicMs();
    if (gaveUp) this.#gaveUpMs = this.#endedMs;
  }

  /** Returns the rest of the cooldown; 0 once this candidate observes a newer term. */
  leftMs(snapshot: LeaseSnapshot | undefined): number {
    if (snapshot && snapshot.term > this.#term) return 0;
    return Math.max(this.#gaveUpMs + this.#cooldownMs - this.#clock.monotonicMs(), 0);
  }

  /** Waits until `leastMs`, and at least the shortest pause, has passed since the last term. An abort ends the wait. */
  async pause(signal: AbortSignal, leastMs = 0): Promise<void> {
    const leftMs = this.#endedMs + Math.max(SHORTEST_PAUSE_MS, leastMs) - this.#clock.monotonicMs();
    if (leftMs > 0) await sleep(this.#clock, leftMs, signal).catch(() => undefined);
  }
}

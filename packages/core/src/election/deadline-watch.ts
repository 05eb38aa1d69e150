import type { Clock, Timer } from "../time/clock.ts";

/** The longest that the clocks go unchecked while a term lasts. */
const CLOCK_CHECK_MS = 1_000;

/**
 * Has the clocks checked at a term's next deadline, and every second until then: timers stand still with a suspended
 * machine, and what the wall clock says is to be found soon after it.
 */
export class DeadlineWatch {
  readonly #clock: Clock;
  readonly #toDeadlineMs: () => number;
  readonly #check: () => void;
  #cancelled = false;
  #timer: Timer | undefined;

  constructor(clock: Clock, toDeadlineMs: () => number, check: () => void) {
    this.#clock = clock;
    this.#toDeadlineMs = toDeadlineMs;
    this.#check = check;
  }

  /** A deadline that moves later needs no other timer: this one is early, and begins anew. */
  start(): void {
    if (this.#cancelled) return;
    const delayMs = Math.min(Math.max(this.#toDeadlineMs(), 0), CLOCK_CHECK_MS);
    this.#timer = this.#clock.setTimer(() => {
      this.#check();
      this.start();
    }, delayMs);
  }

  /** Ends for good. */
  cancel(): void {
    this.#cancelled = true;
    this.#timer?.cancel();
  }
}

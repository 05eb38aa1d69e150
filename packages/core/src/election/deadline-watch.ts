import type { Clock, Timer } from "../time/clock.ts";

/** The longest that the clocks go unchecked while a term lasts. */
const CLOCK_CHECK_MS = 1_000;

/** A term that ends by the clocks. */
export interface TimedTerm {
  /** The time until the clocks end something. */
  readonly toDeadlineMs: number;
  /** Lets the clocks decide. */
  checkClock(): void;
}

/**
 * Has the clocks checked at a term's next deadline, and every second until then: timers stand still with a suspended
 * machine, and what the wall clock says is to be found soon after it.
 */
export class DeadlineWatch {
  readonly #clock: Clock;
  readonly #term: TimedTerm;
  #cancelled = false;
  #timer: Timer | undefined;

  constructor(clock: Clock, term: TimedTerm) {
    this.#clock = clock;
    this.#term = term;
  }

  /** A deadline that moves later needs no other timer: this one is early, and begins anew. */
  start(): void {
    if (this.#cancelled) return;
    const delayMs = Math.min(Math.max(this.#term.toDeadlineMs, 0), CLOCK_CHECK_MS);
    this.#timer = this.#clock.setTimer(() => {
      this.#term.checkClock();
      this.start();
    }, delayMs);
  }

  /** Ends for good. */
  cancel(): void {
    this.#cancelled = true;
    this.#timer?.cancel();
  }
}

import { SAFETY_MARGIN } from "../store/lease-limits.ts";
import { holderElapsedMs, instantOf, type Clock, type Instant, type Timer } from "../time/clock.ts";
import type { Timing } from "./timing.ts";

/** A term whose task has to settle in time. */
export interface DrainedTerm {
  /** Called once, when the task is still pending although its time is up. */
  overran(sinceSignalMs: number): void;
  /** Called once it is, and the elector is to stop, which waits no longer. */
  stopOverran(waitedMs: number): void;
}

/**
 * Watches how long a task takes to settle. Its time is up `drainTimeoutMs` after its signal aborted; once nothing covers
 * it any longer, it gets half of the safety margin at most, so that a process that is to end then does so before a rival
 * may lead.
 */
export class OverrunWatch {
  readonly #clock: Clock;
  readonly #timing: Timing;
  readonly #term: DrainedTerm;
  #endedAt: Instant | undefined;
  /** The lease no longer covers the task. */
  #isUncovered = false;
  #stopping = false;
  #overran = false;
  #timer: Timer | undefined;

  constructor(clock: Clock, timing: Timing, term: DrainedTerm) {
    this.#clock = clock;
    this.#timing = timing;
    this.#term = term;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** The task's signal aborts now. */
  start(): void {
    this.#endedAt = instantOf(this.#clock);
    this.#watch();
  }

  /** From now on no lease covers the task. */
  uncover(): void {
    this.#isUncovered = true;
    this.#watch();
  }

  /** The elector is to stop. */
  stop(): void {
    if (this.#stopping) return;
    this.#stopping = true;
    if (this.#overran) this.#term.stopOverran(this.#sinceSignalMs);
  }

  cancel(): void {
    this.#timer?.cancel();
  }

  #watch(): void {
    if (!this.#endedAt || this.#overran) return;
    this.#timer?.cancel();
    const { drainTimeoutMs, leaseDurationMs } = this.#timing;
    const drainLeftMs = drainTimeoutMs - this.#sinceSignalMs;
    const graceMs = this.#isUncovered ? (leaseDurationMs * SAFETY_MARGIN) / 2 : Infinity;
    this.#timer = this.#clock.setTimer(() => this.#overrun(), Math.min(drainLeftMs, graceMs));
  }

  #overrun(): void {
    this.#overran = true;
    this.#term.overran(this.#sinceSignalMs);
    if (this.#stopping) this.#term.stopOverran(this.#sinceSignalMs);
  }

  get #sinceSignalMs(): number {
    return this.#endedAt ? holderElapsedMs(this.#clock, this.#endedAt) : 0;
  }
}

import { SAFETY_MARGIN } from "../store/lease-limits.ts";
import { holderElapsedMs, instantOf, type Clock, type Instant, type Timer } from "../time/clock.ts";
import type { Timing } from "./timing.ts";

export interface OverrunWatchOptions {
  readonly clock: Clock;
  readonly timing: Timing;
  /** Called once, when the task is still pending although its time is up. */
  readonly overran: (sinceSignalMs: number) => void;
  /** Returns the error of a stop that waits no longer. */
  readonly stopError: (waitedMs: number) => Error;
}

/**
 * Watches how long a task takes to settle. Its time is up `drainTimeoutMs` after its signal aborted; once nothing covers
 * it any longer, it gets half of the safety margin at most, so that a process that is to end then does so before a rival
 * may lead.
 */
export class OverrunWatch {
  readonly #options: OverrunWatchOptions;
  readonly #stopOverran = Promise.withResolvers<never>();
  #endedAt: Instant | undefined;
  /** The lease no longer covers the task. */
  #isUncovered = false;
  #stopping = false;
  #overran = false;
  #timer: Timer | undefined;

  constructor(options: OverrunWatchOptions) {
    this.#options = options;
    // Whether anybody waits for it depends on how the tenure ends.
    this.#stopOverran.promise.catch(() => undefined);
  }

  /** Rejects if the elector is stopping and the task is still pending when its time is up. */
  get stopOverran(): Promise<never> {
    return this.#stopOverran.promise;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** The task's signal aborts now. */
  start(): void {
    this.#endedAt = instantOf(this.#options.clock);
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
    if (this.#overran) this.#rejectStop();
  }

  cancel(): void {
    this.#timer?.cancel();
  }

  #watch(): void {
    if (!this.#endedAt || this.#overran) return;
    this.#timer?.cancel();
    const { clock, timing } = this.#options;
    const drainLeftMs = timing.drainTimeoutMs - this.#sinceSignalMs;
    const graceMs = this.#isUncovered ? (timing.leaseDurationMs * SAFETY_MARGIN) / 2 : Infinity;
    this.#timer = clock.setTimer(() => this.#overrun(), Math.min(drainLeftMs, graceMs));
  }

  #overrun(): void {
    this.#overran = true;
    this.#options.overran(this.#sinceSignalMs);
    if (this.#stopping) this.#rejectStop();
  }

  #rejectStop(): void {
    this.#stopOverran.reject(this.#options.stopError(this.#sinceSignalMs));
  }

  get #sinceSignalMs(): number {
    return this.#endedAt ? holderElapsedMs(this.#options.clock, this.#endedAt) : 0;
  }
}

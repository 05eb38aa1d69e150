import type { Clock, Timer } from "../time/clock.ts";

/** Watches that a task says often enough that its work is alive. */
export class StallWatch {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #stalled: (silentMs: number) => void;
  #checkpointMs: number;
  #timer: Timer | undefined;

  /** @param stalled called with how long the task was silent, once that is `timeoutMs` or more. */
  constructor(clock: Clock, timeoutMs: number, stalled: (silentMs: number) => void) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#stalled = stalled;
    this.#checkpointMs = clock.monotonicMs();
  }

  start(): void {
    const leftMs = Math.max(this.#timeoutMs - this.#silentMs, 0);
    this.#timer = this.#clock.setTimer(() => {
      const silentMs = this.#silentMs;
      if (silentMs < this.#timeoutMs) this.start();
      else this.#stalled(silentMs);
    }, leftMs);
  }

  /** The work is alive. */
  checkpoint(): void {
    this.#checkpointMs = this.#clock.monotonicMs();
  }

  cancel(): void {
    this.#timer?.cancel();
  }

  get #silentMs(): number {
    return this.#clock.monotonicMs() - this.#checkpointMs;
  }
}

import type { Leadership, TimingReport } from "@leasehold/core";
import { STAND_STILL } from "./worker-settings.ts";

/** By how much of its interval the next renewal is still off, at least. */
const UNTIL_RENEWAL = 0.25;

/**
 * The point at which the demo kills or freezes a worker: between two writes, and between two renewals. Nothing is under way
 * there, so its lease runs for a known time, and no lock of the worker keeps the others waiting.
 */
export class StillPoint {
  readonly #validForMs: number;
  readonly #renewIntervalMs: number;
  #wanted = false;

  constructor({ validForMs, renewIntervalMs }: TimingReport) {
    this.#validForMs = validForMs;
    this.#renewIntervalMs = renewIntervalMs;
    process.on("message", (message) => {
      if (message === STAND_STILL) this.#wanted = true;
    });
  }

  /** The demo has asked for it, and the last renewal is confirmed and the next one not due for a while. */
  isReached(leadership: Leadership): boolean {
    const freshMs = this.#validForMs - (1 - UNTIL_RENEWAL) * this.#renewIntervalMs;
    return this.#wanted && leadership.remainingMs() > freshMs;
  }

  /** Stops this process here, however late the demo is. The demo kills it, or resumes it. */
  standStill(): void {
    this.#wanted = false;
    process.kill(process.pid, "SIGSTOP");
  }
}

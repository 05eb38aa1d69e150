import type { Leadership, TimingReport } from "@leasehold/core";
import { STAND_STILL } from "./worker-settings.ts";

/** The least time until the next renewal, as a fraction of the renew interval. */
const UNTIL_RENEWAL = 0.25;

/**
 * The point at which the demo kills or freezes a worker: between two writes, and between two renewals. No request is pending
 * there. So the rest of its lease is known, and no lock of the worker makes the others wait.
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

  /** Reports whether the demo has asked for the stop, the last renewal is confirmed, and the next one is not due for a while. */
  isReached(leadership: Leadership): boolean {
    const freshMs = this.#validForMs - (1 - UNTIL_RENEWAL) * this.#renewIntervalMs;
    return this.#wanted && leadership.remainingMs() > freshMs;
  }

  /** Stops this process here, even if the demo is late. The demo then kills or resumes the process. */
  standStill(): void {
    this.#wanted = false;
    process.kill(process.pid, "SIGSTOP");
  }
}

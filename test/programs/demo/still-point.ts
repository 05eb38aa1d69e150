import type { Leadership, TimingReport } from "@leasehold/core";
import { STAND_STILL } from "./worker-settings.ts";

/** By how much of its interval the next renewal is still off, at least. */
const UNTIL_RENEWAL = 0.25;

/**
 * Where a worker waits for what the demo does to it: between two writes, and between two renewals. So nothing is under
 * way when it dies or freezes: how long its lease still runs is known, and no lock of its own keeps the others waiting.
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

  /** Blocks this process, so that nothing begins, until it is killed or has been frozen; at most for a moment. */
  standStill(): void {
    this.#wanted = false;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, this.#renewIntervalMs);
  }
}

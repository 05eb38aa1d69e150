import type { Clock, Timer } from "@leasehold/core";
import type { CallLimits } from "./requests.ts";

/** The part of the rhythm after which a keep-alive that has failed is sent again. */
const AGAIN = 1 / 4;

/** Keeps a place by a keep-alive at a rhythm, until it is stopped or told that the lease is gone. */
export class PlaceKeeper {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #timeoutMs: number;
  readonly #keepAlive: (limits: CallLimits) => Promise<boolean>;
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;

  /** @param keepAlive sends one; resolves to whether the lease is there. */
  constructor(clock: Clock, intervalMs: number, timeoutMs: number, keepAlive: (limits: CallLimits) => Promise<boolean>) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#timeoutMs = timeoutMs;
    this.#keepAlive = keepAlive;
  }

  start(): void {
    this.#next(this.#intervalMs);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#stopping.abort();
  }

  #next(delayMs: number): void {
    this.#timer = this.#clock.setTimer(() => void this.#keep(), delayMs);
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stopping;
    let nextMs = this.#intervalMs;
    try {
      if (!(await this.#keepAlive({ timeoutMs: this.#timeoutMs, signal }))) return;
    } catch {
      // The place's readings say what is wrong with the service.
      nextMs *= AGAIN;
    }
    if (!signal.aborted) this.#next(nextMs);
  }
}

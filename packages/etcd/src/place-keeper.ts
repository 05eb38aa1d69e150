import type { Clock, Timer } from "@leasehold/core/provider";
import type { CallLimits } from "./requests.ts";

/** A failed keep-alive is sent again after this part of the interval. */
const AGAIN = 1 / 4;

/** Keeps a place by keep-alives at an interval, until it is stopped or the lease is gone. */
export class PlaceKeeper {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #timeoutMs: number;
  readonly #keepAlive: (limits: CallLimits) => Promise<boolean>;
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;

  /** @param keepAlive sends a keep-alive, and reports whether the lease exists. */
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
      // The reads of the place report what is wrong with the service.
      nextMs *= AGAIN;
    }
    if (!signal.aborted) this.#next(nextMs);
  }
}

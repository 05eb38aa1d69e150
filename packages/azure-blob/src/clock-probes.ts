import type { Clock } from "@leasehold/core";
import { DEFAULT_REQUEST_TIMEOUT_MS, sleep, type ServiceClock } from "@leasehold/core/provider";
import { SHARP_MS } from "./grid-aim.ts";
import type { BlobReader } from "./reader.ts";

/** The most requests that are spent on learning the service's clock. */
const MAX_PROBES = 8;

/**
 * The looks by which the holders of one store learn the service's clock, at the instants at which the `Date` of a reply says most
 * about it. One holder looks for all: a thousand whose terms have begun together would spend as many looks each.
 */
export class ClockProbes {
  readonly #clock: Clock;
  readonly #serviceClock: ServiceClock;
  readonly #reader: BlobReader;
  /** Resolves to false where its holder's term has ended first. */
  #running: Promise<boolean> | undefined;

  constructor(clock: Clock, serviceClock: ServiceClock, reader: BlobReader) {
    this.#clock = clock;
    this.#serviceClock = serviceClock;
    this.#reader = reader;
  }

  /**
   * Waits until the clock is known well enough, or as many looks were spent on it as there are.
   * @throws whatever a look has met, and the signal's reason once that aborts.
   */
  async probe(election: string, signal: AbortSignal): Promise<void> {
    while (this.#running) {
      const isDone = await this.#running;
      signal.throwIfAborted();
      if (isDone) return;
    }
    const running = this.#probe(election, signal);
    this.#running = running;
    try {
      await running;
    } finally {
      this.#running = undefined;
    }
    signal.throwIfAborted();
  }

  async #probe(election: string, signal: AbortSignal): Promise<boolean> {
    try {
      for (let probes = 0; probes < MAX_PROBES; probes += 1) {
        const nowMs = this.#clock.monotonicMs();
        if (this.#serviceClock.uncertaintyMs(nowMs) <= SHARP_MS) break;
        await sleep(this.#clock, this.#serviceClock.sharpeningMs(nowMs + 1) - nowMs, signal);
        await this.#reader.read(election, { timeoutMs: DEFAULT_REQUEST_TIMEOUT_MS, signal });
      }
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    }
  }
}

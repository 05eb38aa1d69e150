import { type Clock, DEFAULT_REQUEST_TIMEOUT_MS, sleep, type ServiceClock } from "@leasehold/core/provider";
import { SHARP_MS } from "./grid-aim.ts";
import type { BlobReader } from "./reader.ts";

/** The largest number of requests that one probe sends. */
const MAX_PROBES = 8;

/**
 * Sends the reads from which the holders of one store learn the service's clock. Each read is sent when the `Date` of its reply
 * gives the most information. One holder reads for all, because a thousand terms may begin together.
 */
export class ClockProbes {
  readonly #clock: Clock;
  readonly #serviceClock: ServiceClock;
  readonly #reader: BlobReader;
  /** The probe under way. It resolves to false if its holder's term ended first. */
  #running: Promise<boolean> | undefined;

  constructor(clock: Clock, serviceClock: ServiceClock, reader: BlobReader) {
    this.#clock = clock;
    this.#serviceClock = serviceClock;
    this.#reader = reader;
  }

  /**
   * Waits until the clock is known well enough, or until {@link MAX_PROBES} reads were sent.
   * @throws the error of a read, or the signal's reason once that aborts.
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

import { sleep, type Clock } from "@leasehold/core/provider";

/** Repeats a read for as long as somebody follows it. */
export abstract class Watch<View> {
  protected readonly clock: Clock;
  /** The pause between two reads. */
  readonly #periodMs: number;
  #following: AbortController | undefined;

  constructor(clock: Clock, periodMs: number) {
    this.clock = clock;
    this.#periodMs = periodMs;
  }

  /** Reads once. */
  protected abstract read(): AsyncIterable<View>;

  /** Reads at once, and again after each pause. Ends what an earlier call has started. */
  start(tell: (view: View) => void): void {
    this.stop();
    this.#following = new AbortController();
    void this.#follow(tell, this.#following.signal).catch(() => undefined);
  }

  stop(): void {
    this.#following?.abort();
  }

  async #follow(tell: (view: View) => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for await (const view of this.read()) if (!signal.aborted) tell(view);
      await sleep(this.clock, this.#periodMs, signal);
    }
  }
}

import { type Clock, sleep } from "@leasehold/core/provider";

/** The wait before a server that takes no part yet asks another one again. The other one has `ANSWER_MS` for its answer. */
const ASK_AGAIN_MS = 250;
const ANSWER_MS = 1_000;
/**
 * Each answer that does not come in time doubles both times, up to this factor. Otherwise servers on busy hosts ask each other so
 * often that no answer comes in time.
 */
const MOST_PATIENCE = 4;

/** Asks other servers for their state, less and less often while their answers are late. */
export class StateRequests {
  readonly #clock: Clock;
  readonly #ask: (other: string, timeoutMs: number) => Promise<void>;
  /** The present factor of both times, by the names of the servers that are asked. */
  readonly #patience = new Map<string, number>();

  /** @param ask asks once, and resolves after the answer, or without one. */
  constructor(clock: Clock, ask: (other: string, timeoutMs: number) => Promise<void>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** Asks a server until the signal aborts. Resolves after the first time. */
  async begin(other: string, signal: AbortSignal): Promise<void> {
    this.#patience.set(other, 1);
    await this.#once(other);
    void this.#again(other, signal);
  }

  /** Asks a server at once that was just started, even if it has not answered for long. */
  hasStarted(other: string): void {
    if (this.#patienceFor(other) === 1) return;
    this.#patience.set(other, 1);
    void this.#once(other);
  }

  async #again(other: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#clock, this.#patienceFor(other) * ASK_AGAIN_MS, signal).catch(() => undefined);
      if (!signal.aborted) await this.#once(other);
    }
  }

  async #once(other: string): Promise<void> {
    const askedMs = this.#clock.monotonicMs();
    const patience = this.#patienceFor(other);
    await this.#ask(other, patience * ANSWER_MS);
    const isLate = this.#clock.monotonicMs() - askedMs >= patience * ANSWER_MS;
    this.#patience.set(other, isLate ? Math.min(2 * patience, MOST_PATIENCE) : 1);
  }

  #patienceFor(other: string): number {
    return this.#patience.get(other) ?? 1;
  }
}

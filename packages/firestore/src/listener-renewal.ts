import type { Clock } from "@leasehold/core/provider";

/** A listener that is younger than this is not renewed: the SDK does not wait longer than this before its first retries. */
const YOUNG_MS = 5_000;

/** One listener of this process. */
interface Listener {
  readonly renew: () => void;
  begunMs: number;
  /** True if a request of its election has failed since the listener began. */
  hasMetFailure: boolean;
}

/**
 * Renews listeners after an outage. The SDK retries a broken listener silently, after waits that double up to a minute and a
 * half. Requests of the same election are sent meanwhile. If a request succeeds after another one failed, the service is back,
 * and a new listener replaces the broken one at once.
 */
export class ListenerRenewal {
  readonly #clock: Clock;
  readonly #byElection = new Map<string, Set<Listener>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a listener that has just begun. Returns a function that removes it. */
  add(election: string, renew: () => void): () => void {
    const listener = { renew, begunMs: this.#clock.monotonicMs(), hasMetFailure: false };
    const listeners = this.#byElection.get(election) ?? new Set();
    this.#byElection.set(election, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#byElection.delete(election);
    };
  }

  /** Sends a request of an election, and records whether it succeeds. */
  async during<T>(election: string, send: () => Promise<T>): Promise<T> {
    try {
      const reply = await send();
      this.#answered(election);
      return reply;
    } catch (error) {
      for (const listener of this.#byElection.get(election) ?? []) listener.hasMetFailure = true;
      throw error;
    }
  }

  #answered(election: string): void {
    const nowMs = this.#clock.monotonicMs();
    for (const listener of this.#byElection.get(election) ?? []) {
      if (!listener.hasMetFailure || nowMs - listener.begunMs < YOUNG_MS) continue;
      listener.begunMs = nowMs;
      listener.hasMetFailure = false;
      listener.renew();
    }
  }
}

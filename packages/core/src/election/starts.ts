import type { LeaseStore } from "../store/lease-store.ts";

/**
 * The number of campaigns of a process that may begin at the same time on one store: as many requests as SDKs have connections.
 * With a thousand, each would wait for the others for longer than a request may take, and all be sent again.
 */
const AT_ONCE = 50;

const startsBy = new WeakMap<LeaseStore, Starts>();

/** The campaigns that begin on one store: so many at a time, and the others after them, in order. */
export class Starts {
  #begun = 0;
  readonly #waiting = new Set<() => void>();

  static on(store: LeaseStore): Starts {
    const known = startsBy.get(store) ?? new Starts();
    startsBy.set(store, known);
    return known;
  }

  /** Takes a step once it is its turn. @throws the signal's reason if that aborts while it waits. */
  async take<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#begun < AT_ONCE) this.#begun += 1;
    else await this.#turn(signal);
    try {
      return await step();
    } finally {
      const [next] = this.#waiting;
      if (next) next();
      else this.#begun -= 1;
    }
  }

  /** Waits for the place of one that has begun. */
  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        this.#waiting.delete(onTurn);
        signal.removeEventListener("abort", onAbort);
      };
      const onTurn = (): void => {
        settle();
        resolve();
      };
      const onAbort = (): void => {
        settle();
        reject(signal.reason as Error);
      };
      this.#waiting.add(onTurn);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}

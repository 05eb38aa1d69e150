import type { Clock, Timer } from "../time/clock.ts";
import type { Lease, LeaseStore } from "../store/lease-store.ts";

/** The shortest time between two renewals that a watch asks for. It limits the renewals that pushes can cause. */
const BETWEEN_WAKES_MS = 1_000;
const BEGINS_AFTER_MS = 1_000;

/** Renews a leader's lease early when the store signals that it may be gone. A push is only a wake-up: the renewal decides. */
export class LeaseWatch {
  readonly #stopping = new AbortController();
  readonly #clock: Clock;
  readonly #renew: () => void;
  #timer: Timer | undefined;
  #wokenMs = -Infinity;

  constructor(clock: Clock, renew: () => void) {
    this.#clock = clock;
    this.#renew = renew;
  }

  /** Starts the watch after a second. Most functions are done by then, and a watch takes a connection. */
  start(store: LeaseStore, lease: Lease): void {
    const { signal } = this.#stopping;
    const watch = store.watchLease?.bind(store);
    if (!watch) return;
    this.#timer = this.#clock.setTimer(() => void this.#run(() => watch(lease, { signal })), BEGINS_AFTER_MS);
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#stopping.abort();
  }

  async #run(watch: () => AsyncIterable<void>): Promise<void> {
    try {
      for await (const _ of watch()) {
        if (this.#stopping.signal.aborted) return;
        const nowMs = this.#clock.monotonicMs();
        if (nowMs < this.#wokenMs + BETWEEN_WAKES_MS) continue;
        this.#wokenMs = nowMs;
        this.#renew();
      }
    } catch {
      // The renewals report the failure, if there is one.
    }
  }
}

import { sleep, type Clock, type Timer } from "../time/clock.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { LeaseStore } from "../store/lease-store.ts";

/**
 * The wait before a watch that broke is begun again. Where it breaks again and again the wait grows to a retry
 * period: each watch is a request, too.
 */
const WATCH_AGAIN_MS = 1_000;

/** The reason of a timer that was stopped because it is not needed any more; without one, an error is made for each. */
const STOPPED = "stopped";

/** A snapshot that a store has pushed. */
export interface Push {
  readonly snapshot: LeaseSnapshot | undefined;
}

export interface LookTimerOptions {
  readonly store: LeaseStore;
  readonly election: string;
  readonly clock: Clock;
  readonly retryPeriodMs: number;
}

/** Paces the looks at an election: waits for a time, or until the store pushes a change, whichever comes first. */
export class LookTimer {
  readonly #clock: Clock;
  readonly #watchAgainMaxMs: number;
  readonly #stopped = new AbortController();
  readonly #stopListening: () => void;
  #watching = false;
  #push: Push | undefined;
  #wake: (() => void) | undefined;

  constructor({ store, election, clock, retryPeriodMs }: LookTimerOptions, signal: AbortSignal | undefined) {
    this.#clock = clock;
    this.#watchAgainMaxMs = Math.max(WATCH_AGAIN_MS, retryPeriodMs);
    const onAbort = (): void => this.stop(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#stopListening = () => signal?.removeEventListener("abort", onAbort);
    if (store.watch) void this.#watch(store, election);
  }

  /**
   * Aborts with the signal that was given, on which it is the one listener: each listener more makes adding and removing
   * the others slower, and many may share that signal.
   */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  /** Reports whether the store pushes at present: then there is no need to look before something can have expired. */
  get watching(): boolean {
    return this.#watching;
  }

  /**
   * Waits, at most `delayMs`, and no longer than the store goes on pushing. Returns what it has pushed meanwhile, if it has.
   * @throws the signal's reason as soon as it aborts.
   */
  async wait(delayMs: number): Promise<Push | undefined> {
    this.#stopped.signal.throwIfAborted();
    if (!this.#push) {
      let timer: Timer | undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        timer = this.#clock.setTimer(resolve, delayMs);
      });
      timer?.cancel();
      this.#wake = undefined;
    }
    this.#stopped.signal.throwIfAborted();
    const push = this.#push;
    this.#push = undefined;
    return push;
  }

  /** Drops the pushes so far: they may show an acquisition of ours that has failed meanwhile. */
  forget(): void {
    this.#push = undefined;
  }

  stop(reason: unknown = STOPPED): void {
    this.#stopListening();
    this.#stopped.abort(reason);
    this.#wake?.();
  }

  async #watch(store: LeaseStore, election: string): Promise<void> {
    const { signal } = this.#stopped;
    let waitMs = WATCH_AGAIN_MS;
    while (!signal.aborted) {
      const begunMs = this.#clock.monotonicMs();
      try {
        for await (const snapshot of store.watch?.(election, { signal }) ?? []) {
          this.#watching = true;
          this.#push = { snapshot };
          this.#wake?.();
        }
      } catch {
        // The looks go on, and say what is wrong with the store if anything is.
      }
      // Who waits for a push, at most until the lease may have expired, waits no longer.
      if (this.#watching) this.#wake?.();
      this.#watching = false;
      if (this.#clock.monotonicMs() - begunMs >= this.#watchAgainMaxMs) waitMs = WATCH_AGAIN_MS;
      await sleep(this.#clock, waitMs, signal).catch(() => undefined);
      waitMs = Math.min(2 * waitMs, this.#watchAgainMaxMs);
    }
  }
}

import { sleep, type Clock, type Timer } from "../time/clock.ts";
import type { Journal } from "../reporting/journal.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import { WatchHealth } from "./watch-health.ts";

/**
 * The wait before a watch that ended is begun again. Where it ends again and again the wait grows to a retry
 * period: each watch is a request, too.
 */
const WATCH_AGAIN_MS = 1_000;
/** A watch that has been silent for so many renewals, while polls showed a change, is deaf. */
const DEAF_AFTER_RENEWALS = 2;

/** The reason of a timer that was stopped because it is not needed any more; without one, an error is made for each. */
const STOPPED = "stopped";

export interface PollTimerOptions {
  readonly store: LeaseStore;
  readonly election: string;
  readonly clock: Clock;
  readonly retryPeriodMs: number;
  readonly renewIntervalMs: number;
  readonly journal: Journal;
}

/**
 * Paces the polls of an election: waits for a time, or until the store's watch wakes it. Wake-ups carry nothing and are merged: of
 * those that come before a poll is sent, that poll is the answer, and of those that come later, the next one.
 */
export class PollTimer {
  readonly #options: PollTimerOptions;
  readonly #clock: Clock;
  readonly #stopped = new AbortController();
  readonly #stopListening: () => void;
  readonly #health: WatchHealth | undefined;
  /** The watch that is under way. */
  #watching: AbortController | undefined;
  /** The watch stands: it wakes at each change from now on. */
  #stands = false;
  /** When the first wake-up came that no poll has answered yet, by the monotonic clock. */
  #wokenMs: number | undefined;
  /** No wake-up has come since the last poll was sent. */
  #isSilent = true;
  /** Since when the watch has said nothing of a change that a poll has shown. */
  #silentSinceMs: number | undefined;
  /** What the last poll has shown, as far as a change of it wakes. */
  #shown: string | undefined;
  #wake: (() => void) | undefined;

  constructor(options: PollTimerOptions, signal: AbortSignal | undefined) {
    const { store } = options;
    this.#options = options;
    this.#clock = options.clock;
    const onAbort = (): void => this.stop(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#stopListening = () => signal?.removeEventListener("abort", onAbort);
    if (!store.watch) return;
    this.#health = WatchHealth.on(store);
    this.#health.add(this);
    void this.#watch();
  }

  /**
   * Aborts with the signal that was given, on which it is the one listener: each listener more makes adding and removing
   * the others slower, and many may share that signal.
   */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  /** Reports whether a wake-up is to be expected at each change: then one poll after each renewal is enough. */
  get isPushed(): boolean {
    return this.#stands && this.#health?.isDeaf === false;
  }

  /** When the first wake-up came that no poll has answered yet, by the monotonic clock. */
  get wokenMs(): number | undefined {
    return this.#wokenMs;
  }

  /**
   * Waits for `delayMs`, or until a wake-up.
   * @throws the signal's reason as soon as it aborts.
   */
  async wait(delayMs: number): Promise<void> {
    this.#stopped.signal.throwIfAborted();
    if (this.#wokenMs === undefined) await this.#elapse(delayMs, (wake) => (this.#wake = wake));
    this.#stopped.signal.throwIfAborted();
  }

  /** Waits for `delayMs`, whatever wakes. @throws the signal's reason as soon as it aborts. */
  async pause(delayMs: number): Promise<void> {
    await sleep(this.#clock, delayMs, this.#stopped.signal);
  }

  /** A poll is sent now. It answers every wake-up so far. */
  polling(): void {
    this.#isSilent = this.#wokenMs === undefined;
    this.#wokenMs = undefined;
  }

  /** Takes in what that poll has shown. */
  polled(snapshot: LeaseSnapshot | undefined): void {
    const before = this.#shown;
    this.#shown = snapshot && `${snapshot.term} ${snapshot.state === "vacant"} ${snapshot.endingReason !== undefined}`;
    const isNews = before !== undefined && this.#shown !== undefined && this.#shown !== before;
    if (!this.#stands) return;
    const nowMs = this.#clock.monotonicMs();
    if (isNews && this.#isSilent && this.#wokenMs === undefined) this.#silentSinceMs ??= nowMs;
    const silentMs = nowMs - (this.#silentSinceMs ?? nowMs);
    if (silentMs >= DEAF_AFTER_RENEWALS * this.#options.renewIntervalMs) this.#health?.isFoundDeaf();
    if (this.#health?.isDeaf) this.#health.report(this.#options);
  }

  /** Begins the watch anew. */
  renewWatch(): void {
    this.#silentSinceMs = undefined;
    this.#watching?.abort(STOPPED);
  }

  stop(reason: unknown = STOPPED): void {
    if (this.#stopped.signal.aborted) return;
    this.#stopListening();
    this.#health?.remove(this);
    if (this.#silentSinceMs !== undefined) {
      this.#health?.missed();
      if (this.#health?.isDeaf) this.#health.report(this.#options);
    }
    this.#stopped.abort(reason);
    this.#watching?.abort(reason);
    this.#wake?.();
  }

  async #elapse(delayMs: number, onBegun: (wake: () => void) => void): Promise<void> {
    let timer: Timer | undefined;
    await new Promise<void>((resolve) => {
      onBegun(resolve);
      timer = this.#clock.setTimer(resolve, delayMs);
    });
    timer?.cancel();
    this.#wake = undefined;
  }

  #wakeUp(): void {
    this.#wokenMs ??= this.#clock.monotonicMs();
    this.#wake?.();
  }

  async #watch(): Promise<void> {
    const { store, election, retryPeriodMs } = this.#options;
    const againMaxMs = Math.max(WATCH_AGAIN_MS, retryPeriodMs);
    const { signal } = this.#stopped;
    let waitMs = WATCH_AGAIN_MS;
    while (!signal.aborted) {
      const begunMs = this.#clock.monotonicMs();
      this.#watching = new AbortController();
      try {
        for await (const _ of store.watch?.(election, { signal: this.#watching.signal }) ?? []) {
          // The first one says that the watch stands, and nothing of changes.
          if (this.#stands) {
            this.#silentSinceMs = undefined;
            this.#health?.heard();
          }
          this.#stands = true;
          this.#wakeUp();
        }
      } catch {
        // The polls go on, and say what is wrong with the store if anything is.
      }
      // A standby that has relied on it polls at once.
      if (this.#stands) this.#wakeUp();
      this.#stands = false;
      this.#silentSinceMs = undefined;
      if (this.#clock.monotonicMs() - begunMs >= againMaxMs) waitMs = WATCH_AGAIN_MS;
      await sleep(this.#clock, waitMs, signal).catch(() => undefined);
      waitMs = Math.min(2 * waitMs, againMaxMs);
    }
  }
}

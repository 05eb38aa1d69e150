import { type Clock, onAbort, sleep } from "../time/clock.ts";
import type { Journal } from "../reporting/journal.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import { StoreShare } from "./store-share.ts";
import type { WatchHealth } from "./watch-health.ts";

/** The first wait before a watch that ended is started again. It grows to a retry period, because each watch is a request. */
const WATCH_AGAIN_MS = 1_000;
/** A watch is deaf if it stays silent for this many renewal intervals after a poll showed a change. */
const DEAF_AFTER_RENEWALS = 2;

/** The abort reason of a timer that is no longer needed. Without a reason, each abort would create an error. */
const STOPPED = "stopped";

export interface PollTimerOptions {
  readonly store: LeaseStore;
  readonly election: string;
  readonly clock: Clock;
  readonly retryPeriodMs: number;
  readonly renewIntervalMs: number;
  readonly journal: Journal;
}

/** Waits for a time, or until the store's watch wakes it. A poll answers all wake-ups that came before it was sent. */
export class PollTimer {
  /** The instant of the first wake-up that no poll has answered yet, by the monotonic clock. */
  wokenMs: number | undefined;
  readonly #options: PollTimerOptions;
  readonly #clock: Clock;
  readonly #stopped = new AbortController();
  readonly #stopListening: () => void;
  readonly #health: WatchHealth | undefined;
  #watching: AbortController | undefined;
  /** True while the watch works: it wakes at each change from now on. */
  #stands = false;
  /** True if every wake-up was answered when the last poll was sent. */
  #isSilent = true;
  /** The instant of the first poll that showed a change which the watch has not announced, by the monotonic clock. */
  #silentSinceMs = Infinity;
  #shown: string | undefined;
  #wake: (() => void) | undefined;

  constructor(options: PollTimerOptions, signal: AbortSignal | undefined) {
    const { store } = options;
    this.#options = options;
    this.#clock = options.clock;
    this.#stopListening = onAbort(signal, (reason) => this.stop(reason));
    if (!store.watch) return;
    this.#health = StoreShare.of(store, options.clock).watches;
    this.#health.watches.add(this);
    void this.#watch(store.watch.bind(store));
  }

  /** Aborts with the caller's signal, which many timers may share. So each timer listens to that signal only once. */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  /** Reports whether each change can be expected to cause a wake-up. If so, one poll after each renewal is enough. */
  get isPushed(): boolean {
    return this.#stands && this.#health?.isDeaf === false;
  }

  /** Waits for `delayMs`, or until a wake-up. @throws the signal's reason as soon as it aborts. */
  async wait(delayMs: number): Promise<void> {
    this.#stopped.signal.throwIfAborted();
    if (this.wokenMs === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = this.#clock.setTimer(resolve, delayMs);
      this.#wake = resolve;
      await promise;
      timer.cancel();
      this.#wake = undefined;
    }
    this.#stopped.signal.throwIfAborted();
  }

  /** Waits for `delayMs`, and ignores wake-ups. @throws the signal's reason as soon as it aborts. */
  async pause(delayMs: number): Promise<void> {
    await sleep(this.#clock, delayMs, this.#stopped.signal);
  }

  polling(): void {
    this.#isSilent = this.wokenMs === undefined;
    this.wokenMs = undefined;
  }

  polled(snapshot: LeaseSnapshot | undefined): void {
    const before = this.#shown;
    this.#shown = snapshot && `${snapshot.term} ${snapshot.state === "vacant"} ${snapshot.endingReason !== undefined}`;
    const isNews = before !== undefined && this.#shown !== undefined && this.#shown !== before;
    if (!this.#stands) return;
    const nowMs = this.#clock.monotonicMs();
    if (isNews && this.#isSilent && this.wokenMs === undefined) this.#silentSinceMs = Math.min(this.#silentSinceMs, nowMs);
    if (nowMs - this.#silentSinceMs >= DEAF_AFTER_RENEWALS * this.#options.renewIntervalMs) this.#health?.isFoundDeaf();
    if (this.#health?.isDeaf) this.#health.report(this.#options);
  }

  renewWatch(): void {
    this.#silentSinceMs = Infinity;
    this.#watching?.abort(STOPPED);
  }

  stop(reason: unknown = STOPPED): void {
    if (this.#stopped.signal.aborted) return;
    this.#stopListening();
    this.#health?.watches.delete(this);
    if (this.#silentSinceMs < Infinity) {
      this.#health?.missed();
      if (this.#health?.isDeaf) this.#health.report(this.#options);
    }
    this.#stopped.abort(reason);
    this.#watching?.abort(reason);
    this.#wake?.();
  }

  #wakeUp(): void {
    this.wokenMs ??= this.#clock.monotonicMs();
    this.#wake?.();
  }

  async #watch(watch: NonNullable<LeaseStore["watch"]>): Promise<void> {
    const { election, retryPeriodMs } = this.#options;
    const againMaxMs = Math.max(WATCH_AGAIN_MS, retryPeriodMs);
    const { signal } = this.#stopped;
    let waitMs = WATCH_AGAIN_MS;
    while (!signal.aborted) {
      const begunMs = this.#clock.monotonicMs();
      this.#watching = new AbortController();
      try {
        for await (const _ of watch(election, { signal: this.#watching.signal })) {
          // The first wake-up says that the watch works, and nothing about changes.
          if (this.#stands) {
            this.#silentSinceMs = Infinity;
            this.#health?.heard();
          }
          this.#stands = true;
          this.#wakeUp();
        }
      } catch {
        // The polls go on, and report the store's failure if there is one.
      }
      // A standby that relied on the watch polls at once.
      if (this.#stands) this.#wakeUp();
      this.#stands = false;
      this.#silentSinceMs = Infinity;
      if (this.#clock.monotonicMs() - begunMs >= againMaxMs) waitMs = WATCH_AGAIN_MS;
      await sleep(this.#clock, waitMs, signal).catch(() => undefined);
      waitMs = Math.min(2 * waitMs, againMaxMs);
    }
  }
}

/** The number of requests that may be sent at once after a quiet time. To learn the phase of renewals takes eight polls. */
const BURST = 10;

/** Limits a standby's polls in each `renewIntervalMs` to one more than its `retryPeriodMs` asks for. */
export class PollRateLimit {
  readonly #clock: Clock;
  readonly #spacingMs: number;
  /** The instant at which the next poll would be due if polls were spaced evenly. */
  #evenMs = -Infinity;

  constructor(clock: Clock, { retryPeriodMs, renewIntervalMs }: Pick<PollTimerOptions, "retryPeriodMs" | "renewIntervalMs">) {
    this.#clock = clock;
    this.#spacingMs = renewIntervalMs / (Math.ceil(renewIntervalMs / retryPeriodMs) + 1);
  }

  /** Returns the time until the next poll may be sent; 0 if it may be sent now. */
  get waitMs(): number {
    return Math.max(this.#evenMs - (BURST - 1) * this.#spacingMs - this.#clock.monotonicMs(), 0);
  }

  spend(): void {
    this.#evenMs = Math.max(this.#evenMs, this.#clock.monotonicMs()) + this.#spacingMs;
  }
}

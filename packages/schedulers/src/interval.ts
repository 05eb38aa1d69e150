import { ConfigurationError, type ClaimedLeadership, type LeaseStore } from "@leasehold/core";
import { type Clock, type Timer, asSentence, duration, Journal, onAbort, sharedClock } from "@leasehold/core/provider";
import { summarizeError } from "@leasehold/core/diagnostics";
import { checkJob, Ticks, type Closable, type TickOptions } from "./tick.ts";

export type { Closable, TickCatchUp, TickOptions } from "./tick.ts";

export interface EveryOptions<Store extends LeaseStore = LeaseStore> extends TickOptions<Store> {
  /** The time from one tick to the next, in milliseconds, the same on every host. From a second to a day. */
  readonly periodMs: number;
  /** Called with an error that a tick throws. @defaultValue the error is reported to the `logger`, or as a process warning */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const SHORTEST_PERIOD_MS = 1_000;
const LONGEST_PERIOD_MS = 86_400_000;
/** The longest time until this host notices that its wall clock was set forward. */
const LONGEST_WAIT_MS = 60_000;

/**
 * Does a job once in each period, for instance every 30 seconds, on one of the hosts that call this function. A tick is due when
 * the time since 1970 is a multiple of `periodMs`. All hosts therefore give a tick the same name, with any difference of their
 * clocks. No scheduler is needed. With `catchUp`, `every` does missed ticks already when it starts.
 *
 * A tick that takes longer than the period goes on, and the next one begins beside it, unless `overlap` says otherwise. The timer
 * keeps the process alive until `close()` is called or the `signal` aborts. The guarantees are those of `oncePerOccurrence`.
 *
 * @example
 * ```ts
 * const refresh = every({ store, name: "refresh-rates", periodMs: 30_000 }, ({ signal }) => refreshRates(signal));
 * await refresh.close();
 * ```
 * @throws {ConfigurationError} {UnsupportedError} for options that cannot work, before any tick.
 */
export function every<Store extends LeaseStore = LeaseStore>(
  options: EveryOptions<Store>,
  job: (leadership: ClaimedLeadership<Store>) => unknown,
): Closable {
  const { periodMs, onError, ...tickOptions } = (options ?? {}) as EveryOptions<Store>;
  const ticks = new Ticks("every", tickOptions, true);
  checkJob("every", job);
  checkPeriod(periodMs);
  const { store, clock, logger, name, signal } = tickOptions;
  const previous = (scheduledMs: number): number => scheduledMs - periodMs;
  const report = onError ?? ((error: unknown) => reportFailure(Journal.to(logger), name, error));
  const timer = new GridTimer(sharedClock(store, clock), periodMs, (dueMs) => {
    ticks.run(dueMs, job, previous).catch(report);
  });
  // The last tick may have been due while all hosts were down. The timer's first tick is the next one.
  ticks.catchUpTo(timer.nextMs, job, previous).catch(report);
  if (signal?.aborted) timer.stop();
  else onAbort(signal, () => timer.stop());
  return {
    async close() {
      timer.stop();
      await ticks.close();
    },
  };
}

/** Calls back at each multiple of a period, by the wall clock. */
class GridTimer {
  readonly #clock: Clock;
  readonly #periodMs: number;
  readonly #onTick: (dueMs: number) => void;
  /** The tick that was called last. It is not called again if a timer fires early or the clock is set back to this tick. */
  #lastMs: number;
  #timer: Timer;

  constructor(clock: Clock, periodMs: number, onTick: (dueMs: number) => void) {
    this.#clock = clock;
    this.#periodMs = periodMs;
    this.#onTick = onTick;
    this.#lastMs = this.#dueMs;
    this.#timer = this.#next();
  }

  stop(): void {
    this.#timer.cancel();
  }

  /** The time at which the next tick is due. */
  get nextMs(): number {
    return this.#dueMs + this.#periodMs;
  }

  get #dueMs(): number {
    const wallMs = this.#clock.wallMs();
    return wallMs - (wallMs % this.#periodMs);
  }

  #next(): Timer {
    // Limit the wait: a timer does not run while a machine is suspended, and does not notice a step of the wall clock.
    const inMs = Math.min(this.nextMs - this.#clock.wallMs(), LONGEST_WAIT_MS);
    return this.#clock.setTimer(() => this.#fire(), inMs);
  }

  #fire(): void {
    this.#timer = this.#next();
    const dueMs = this.#dueMs;
    if (dueMs === this.#lastMs) return;
    this.#lastMs = dueMs;
    this.#onTick(dueMs);
  }
}

function checkPeriod(periodMs: unknown): void {
  const ms = duration("periodMs", periodMs);
  if (Number.isInteger(ms) && ms >= SHORTEST_PERIOD_MS && ms <= LONGEST_PERIOD_MS) return;
  throw new ConfigurationError(
    `periodMs is ${String(periodMs)}; it must be a whole number from ${SHORTEST_PERIOD_MS} to ${LONGEST_PERIOD_MS}. For longer periods use a scheduler.`,
  );
}

function reportFailure(journal: Journal, name: string, error: unknown): void {
  const { code, message } = summarizeError(error);
  journal.warn("LEASEHOLD_TICK_FAILED", "error", `A tick of '${name}' failed. ${asSentence(message)}`, { name, code });
}

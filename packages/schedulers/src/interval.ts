import { ConfigurationError, type ClaimedLeadership, type Clock, type LeaseStore, type Timer } from "@leasehold/core";
import { asSentence, duration, Journal, sharedClock, toldError } from "@leasehold/core/provider";
import { checkJob, Ticks, type Closable, type TickOptions } from "./tick.ts";

export type { Closable, TickOptions } from "./tick.ts";

export interface EveryOptions<Store extends LeaseStore = LeaseStore> extends TickOptions<Store> {
  /** The time from one tick to the next, in milliseconds, the same on every host: a second to a day. */
  readonly periodMs: number;
  /** Called with what a tick throws. @defaultValue it is reported to the `logger`, or as a process warning */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const SHORTEST_PERIOD_MS = 1_000;
const LONGEST_PERIOD_MS = 86_400_000;
/** The longest time for which a wall clock that was set forward goes unnoticed. */
const LONGEST_WAIT_MS = 60_000;

/**
 * Does a job every so often on one of all hosts that call this: "every 30 s, one of us". A tick is due where the time since 1970
 * is a multiple of `periodMs`, so that all hosts name it alike, however skewed their clocks are. It needs no scheduler.
 *
 * A tick that takes longer than the period goes on, and the next one begins beside it. It keeps the process alive until it is closed,
 * or its `signal` aborts. It guarantees what `oncePerOccurrence` does, and no more.
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
  const ticks = new Ticks("every", tickOptions);
  checkJob("every", job);
  checkPeriod(periodMs);
  const { store, clock, logger, name, signal } = tickOptions;
  const report = onError ?? ((error: unknown) => reportFailure(Journal.to(logger), name, error));
  const timer = new GridTimer(sharedClock(store, clock), periodMs, (dueMs) => {
    ticks.run(dueMs, job).catch(report);
  });
  if (signal?.aborted) timer.stop();
  else signal?.addEventListener("abort", () => timer.stop(), { once: true });
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
  /** The tick that was called last: a timer that is early, or a clock that is set back, does not call it again. */
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

  get #dueMs(): number {
    const wallMs = this.#clock.wallMs();
    return wallMs - (wallMs % this.#periodMs);
  }

  #next(): Timer {
    // A timer stands still while a machine is suspended, and knows of no step of the wall clock.
    const inMs = Math.min(this.#dueMs + this.#periodMs - this.#clock.wallMs(), LONGEST_WAIT_MS);
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
  const { code, message } = toldError(error);
  journal.warn("LEASEHOLD_TICK_FAILED", "error", `A tick of '${name}' failed. ${asSentence(message)}`, { name, code });
}

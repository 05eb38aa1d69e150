import type { Clock } from "@leasehold/core/provider";
import type { Leader, LeaseStore, LoggerOption } from "@leasehold/core";
import type { CatchUp, FailureOptions, Occurrence, NotRun, Overlap } from "@leasehold/core/occurrences";
import type { Renewal } from "./time-budget.ts";

/** The options of every gate. `Args` are the handler's own arguments. */
export interface GateOptions<Args extends readonly unknown[], Store extends LeaseStore, Standby> {
  /** The store that holds the election. Make it once, outside the handler, so that a warm instance keeps its connections. */
  readonly store: Store;
  /**
   * The name that invocations compete for, the same in every region. A function computes it from the handler's arguments, for
   * instance by tenant.
   */
  readonly election: string | ((...args: Args) => string);
  /**
   * Returns the result of a delivery that does not lead. It may throw, so that the platform delivers again. An event that is not
   * known to be a tick of a schedule needs it, because its source treats a return as "processed".
   * @defaultValue returns the {@link NotElected} itself
   */
  readonly onStandby?: ((standby: NotElected, ...args: Args) => Standby | Promise<Standby>) | undefined;
  /**
   * The longest time for which a delivery waits for the lease. After that time the delivery is skipped. With 0 it is skipped at
   * once if another invocation leads. The wait uses the invocation's time: leave enough to work.
   * @defaultValue 0
   */
  readonly waitMs?: number | undefined;
  /**
   * The answer to a store that cannot be reached, so that nobody may lead. With `throw` the error goes to the platform, which may
   * deliver again. With `skip` the delivery counts as one that does not lead. Misconfiguration is always thrown.
   * @defaultValue 'throw'
   */
  readonly onUnavailable?: "throw" | "skip" | undefined;
  /**
   * The answer if an earlier delivery of this same request holds the election or the occurrence, dead or alive. With `throw` it
   * is an {@link AlreadyClaimedError}: the platform delivers again until the work is done, taken over, or in a dead-letter queue.
   * With `skip` the delivery is skipped, as if another request held the lease.
   * @defaultValue 'throw'
   */
  readonly onClaimed?: "throw" | "skip" | undefined;
  /**
   * Returns the name of the request: the same at each of its deliveries, different for every other request, 1 to 255 bytes.
   * Others can read the name in the store.
   * @defaultValue the platform's name for the request, if it has one. Without a name every claim counts as another request's
   */
  readonly delivery?: ((...args: Args) => string) | undefined;
  /**
   * The time from the abort of the signal until the platform ends the invocation. @defaultValue a tenth of its time, at most
   * 5_000
   */
  readonly shutdownMarginMs?: number | undefined;
  /**
   * The time for which others wait if this invocation dies. A lease that is shorter than the invocation is renewed while the
   * handler works.
   * @defaultValue the invocation's time and a margin, or the longest that the store takes; 15_000 with `renewal: 'background'`
   */
  readonly leaseDurationMs?: number | undefined;
  /**
   * For this time after the invocation began, no other invocation runs. The hold lasts even if this invocation ends sooner: a
   * late duplicate is skipped. @defaultValue 0
   */
  readonly minimumHoldMs?: number | undefined;
  /**
   * The sender of renewals: a timer while the handler works (`background`), or the handler by `await leadership.checkpoint()`. A
   * handler that sends none in time loses its lease, and another invocation runs beside it.
   * @defaultValue 'checkpoint' if the lease lasts for the whole invocation, so that no renewal is needed; else 'background'
   */
  readonly renewal?: Renewal | undefined;
  /** A text that others can read while this invocation leads. In the store, a line with the name of the request follows it. */
  readonly value?: string | undefined;
  /** Aborts the leadership's signal as well. Pass a signal that your process aborts on SIGTERM. */
  readonly signal?: AbortSignal | undefined;
  /** The same as the elector's option. */
  readonly logger?: LoggerOption;
  /** @defaultValue the store's clock */
  readonly clock?: Clock | undefined;
}

/** Run if no other invocation is running, else skip. */
export interface ExclusiveOptions<Args extends readonly unknown[], Store extends LeaseStore, Standby> extends GateOptions<
  Args,
  Store,
  Standby
> {
  readonly gate?: "exclusive" | undefined;
  /** These options are for other gates. Set `gate` to use one. */
  readonly group?: undefined;
  readonly periodMs?: undefined;
  readonly missedTicks?: undefined;
  readonly occurrence?: undefined;
  readonly retentionMs?: undefined;
  readonly catchUp?: undefined;
  readonly keepResult?: undefined;
  readonly startWithinMs?: undefined;
  readonly overlap?: undefined;
  readonly tries?: undefined;
  readonly backoffMs?: undefined;
  readonly pauseOnFailure?: undefined;
}

/** The invocations of one group (a region) lead at every tick. Another group takes over after the first has missed ticks. */
export interface StickyOptions<Args extends readonly unknown[], Store extends LeaseStore, Standby> extends GateOptions<
  Args,
  Store,
  Standby
> {
  readonly gate: "sticky";
  /** The group that stays the leader, for instance the region's name. */
  readonly group: string;
  /** The time from one tick to the next. If it varies, the longest. */
  readonly periodMs: number;
  /** The number of ticks in a row that the leading group must have missed before another takes over. @defaultValue 2 */
  readonly missedTicks?: number | undefined;
}

/** Each occurrence of the schedule is done once, however often and wherever it is delivered. */
export interface OncePerTickOptions<Args extends readonly unknown[], Store extends LeaseStore, Standby>
  extends Omit<GateOptions<Args, Store, Standby>, "minimumHoldMs">, FailureOptions {
  readonly gate: "oncePerTick";
  /** Returns the occurrence of a delivery. @defaultValue the occurrence that the platform's event names */
  readonly occurrence?: ((...args: Args) => Occurrence) | undefined;
  /**
   * The time for which a done occurrence is remembered. It has to be longer than any late delivery, and at least a day.
   * @defaultValue 7 days
   */
  readonly retentionMs?: number | undefined;
  /**
   * Keeps the value that the handler returns, in the write that records the end. A later delivery finds it as the `result` of
   * {@link NotElected}. As in `oncePerOccurrence`, it has to be JSON and small. A value that cannot be kept is logged as an
   * error, and the occurrence is done without a result. @defaultValue false
   */
  readonly keepResult?: boolean | undefined;
  /**
   * The longest time from when the delivered occurrence was due until its handler begins, in milliseconds. After that time the
   * occurrence is missed: no invocation claims it. Each invocation uses its own wall clock. This limit does not apply to
   * `catchUp`. @defaultValue no limit
   */
  readonly startWithinMs?: number | undefined;
  /**
   * The relation of an occurrence to an earlier one that still runs, in any region. With any policy but `allowAll` the invocation that
   * runs an occurrence also leads `election` in the store: three more requests for each run. An administrator can pause that
   * election; occurrences are then skipped as `paused`. A wait by `bufferOne` and `cancelOther` uses the invocation's time.
   * @defaultValue 'allowAll'
   */
  readonly overlap?: Overlap | undefined;
  /** The rule by which missed occurrences are done later. @defaultValue none: they stay missed */
  readonly catchUp?: CatchUp | undefined;
}

export type OnlyAsLeaderOptions<Args extends readonly unknown[], Store extends LeaseStore, Standby> =
  | ExclusiveOptions<Args, Store, Standby>
  | StickyOptions<Args, Store, Standby>
  | OncePerTickOptions<Args, Store, Standby>;

/**
 * The reason why a delivery does not lead.
 * - `done`: its occurrence is done.
 * - `failed`: the last try of its occurrence has failed, and no invocation tries it again.
 * - `claimed`: another invocation is running, or it has died and its lease has not expired.
 * - `held-back`: no invocation runs, but something blocks this one: a minimum hold, another group's reservation, a transfer.
 * - `missed`: no invocation had claimed its occurrence, and more than `startWithinMs` had passed since it was due.
 * - `overlap`: another occurrence ran, or waited already. No invocation does this occurrence.
 * - `cancelled`: the signal of its handler aborted, because a later occurrence was due. No invocation does this occurrence.
 * - `paused`: an administrator had paused the election. No invocation does this occurrence.
 * - `unavailable`: the store cannot be reached.
 */
export type SkipReason = "done" | "failed" | "claimed" | "held-back" | NotRun | "unavailable";

/** The default result of a delivery that does not lead. */
export interface NotElected {
  readonly elected: false;
  readonly reason: SkipReason;
  /** The leader, if one is known. */
  readonly leader?: Leader | undefined;
  /** With `done`: what the handler returned when the occurrence was done, as JSON, if `keepResult` was set. */
  readonly result?: unknown;
  /** With `failed`: the code of the error. */
  readonly failure?: string | undefined;
}

/** The options of any gate, without the types of a handler. */
export type AnyOptions = OnlyAsLeaderOptions<never, LeaseStore, unknown>;

import type { Clock, Leader, LeaseStore, LoggerOption } from "@leasehold/core";
import type { Occurrence } from "@leasehold/core/provider";
import type { CatchUp } from "./catch-up.ts";
import type { Renewal } from "./time-budget.ts";

/** The options of every gate. `Args`: the handler's own arguments. */
export interface GateOptions<Args extends readonly unknown[], Store extends LeaseStore, Standby> {
  /** The store that holds the election. Make it once, outside the handler, so that a warm instance keeps its connections. */
  readonly store: Store;
  /** The name that invocations compete for, the same in every region; or what returns it, for instance by tenant, from the handler's arguments. */
  readonly election: string | ((...args: Args) => string);
  /**
   * Returns what a delivery that does not lead returns; may throw, to have its platform deliver again. Whatever is not known to be
   * a schedule needs it: it takes a return for "processed". @defaultValue returns the {@link NotElected} itself
   */
  readonly onStandby?: ((standby: NotElected, ...args: Args) => Standby | Promise<Standby>) | undefined;
  /**
   * The longest that a delivery waits for its turn, and then runs, rather than skip at once. It is time of the invocation: leave it
   * enough to work.
   * @defaultValue 0
   */
  readonly waitMs?: number | undefined;
  /**
   * The answer to a store that cannot be reached, so that nobody may lead: the error goes to the platform, which may
   * deliver again, or the delivery counts as one that does not lead. Misconfiguration is always thrown.
   * @defaultValue 'throw'
   */
  readonly onUnavailable?: "throw" | "skip" | undefined;
  /**
   * The answer to an election, or an occurrence, that an earlier delivery of this same request holds, dead or alive: an
   * {@link AlreadyClaimedError}, so that the platform delivers until it is done, taken over, or in a dead-letter queue; or as if
   * another held it. @defaultValue 'throw'
   */
  readonly onClaimed?: "throw" | "skip" | undefined;
  /**
   * Returns what names the request, the same at each of its deliveries and at no other request's: 1 to 255 bytes. Others can
   * read it in the store. @defaultValue what the platform tells; none where it tells nothing, so that every claim is another's
   */
  readonly delivery?: ((...args: Args) => string) | undefined;
  /** The time from the abort of the signal to the end of the invocation by its platform. @defaultValue a tenth of its time, at most 5_000 */
  readonly shutdownMarginMs?: number | undefined;
  /**
   * The time that others wait if this invocation dies. Shorter than the invocation, it is renewed while the handler works.
   * @defaultValue as long as the invocation may last and a margin, or the longest that the store takes; 15_000 with `renewal: 'background'`
   */
  readonly leaseDurationMs?: number | undefined;
  /** Nobody else runs before so long after this invocation began, however quick it was: a twin that comes late finds it taken. @defaultValue 0 */
  readonly minimumHoldMs?: number | undefined;
  /**
   * The sender of renewals: a timer while the handler works, or the handler, by `await leadership.checkpoint()`. A handler that
   * sends none in time loses its lease, and another invocation runs beside it.
   * @defaultValue 'checkpoint' where the lease lasts for the whole invocation, so that none is needed; else 'background'
   */
  readonly renewal?: Renewal | undefined;
  /** A text that others read while this invocation leads. In the store a line that names the delivery follows it. */
  readonly value?: string | undefined;
  /** Aborts the leadership's signal as well: pass what your process aborts on SIGTERM. */
  readonly signal?: AbortSignal | undefined;
  /** As the elector's. */
  readonly logger?: LoggerOption;
  /** @defaultValue the store's clock */
  readonly clock?: Clock | undefined;
}

/** Run if no other invocation is running; else skip. */
export interface ExclusiveOptions<Args extends readonly unknown[], Store extends LeaseStore, Standby> extends GateOptions<
  Args,
  Store,
  Standby
> {
  readonly gate?: "exclusive" | undefined;
  /** These are for other gates: name the one that is meant. */
  readonly group?: undefined;
  readonly periodMs?: undefined;
  readonly missedTicks?: undefined;
  readonly occurrence?: undefined;
  readonly retentionMs?: undefined;
  readonly catchUp?: undefined;
}

/** The invocations of one group (a region) lead tick after tick; another takes over once ticks were missed. */
export interface StickyOptions<Args extends readonly unknown[], Store extends LeaseStore, Standby> extends GateOptions<
  Args,
  Store,
  Standby
> {
  readonly gate: "sticky";
  /** The group that stays the leader, for instance the region's name. */
  readonly group: string;
  /** The time from one tick to the next; the longest, if it varies. */
  readonly periodMs: number;
  /** The number of ticks in a row that the leading group must have missed before another takes over. @defaultValue 2 */
  readonly missedTicks?: number | undefined;
}

/** Each occurrence of the schedule is done once, however often and wherever it is delivered. */
export interface OncePerTickOptions<Args extends readonly unknown[], Store extends LeaseStore, Standby> extends Omit<
  GateOptions<Args, Store, Standby>,
  "minimumHoldMs"
> {
  readonly gate: "oncePerTick";
  /** Returns the occurrence that a delivery is of. @defaultValue the one that the platform's event names */
  readonly occurrence?: ((...args: Args) => Occurrence) | undefined;
  /** The time for which a done occurrence is remembered: longer than any late delivery. From a day. @defaultValue 7 days */
  readonly retentionMs?: number | undefined;
  /** The rule by which occurrences that nobody has done are done as well. @defaultValue none: missed is missed */
  readonly catchUp?: CatchUp | undefined;
}

export type OnlyAsLeaderOptions<Args extends readonly unknown[], Store extends LeaseStore, Standby> =
  | ExclusiveOptions<Args, Store, Standby>
  | StickyOptions<Args, Store, Standby>
  | OncePerTickOptions<Args, Store, Standby>;

/**
 * The reason for which a delivery does not lead.
 * - `done`: its occurrence is done.
 * - `claimed`: another invocation works, or has died and its lease has not run out.
 * - `held-back`: nobody works, and it may not either: a minimum hold, another group's reservation, a hand-over.
 * - `unavailable`: the store cannot be reached.
 */
export type SkipReason = "done" | "claimed" | "held-back" | "unavailable";

/** The result of a delivery that does not lead, by default. */
export interface NotElected {
  readonly elected: false;
  readonly reason: SkipReason;
  /** The leader, if one is known. */
  readonly leader?: Leader | undefined;
}

/** The options of any gate, as far as they have nothing to do with a handler. */
export type AnyOptions = OnlyAsLeaderOptions<never, LeaseStore, unknown>;

import {
  ConfigurationError,
  Elector,
  UnsupportedError,
  type Clock,
  type Leader,
  type LeaseStore,
  type LoggerOption,
  type OccurrenceStore,
  type Reservation,
} from "@leasehold/core";
import {
  checkName,
  checkOptions,
  checkRetention,
  DEFAULT_RETENTION_MS,
  duration,
  occurrencesOf,
  type Occurrence,
} from "@leasehold/core/provider";
import { checkCatchUp, type CatchUp } from "./catch-up.ts";
import { timeBudget } from "./time-budget.ts";

/** The options of every gate. `Args`: the handler's own arguments. */
export interface GateOptions<Args extends readonly unknown[], Store extends LeaseStore, Standby> {
  /** The store that holds the election. Make it once, outside the handler, so that a warm instance keeps its connections. */
  readonly store: Store;
  /** The name that invocations compete for, the same in every region. */
  readonly election: string;
  /** Returns what a delivery that does not lead returns; may throw, to have its platform deliver again. @defaultValue `{ elected: false, leader }` */
  readonly onStandby?: ((leader: Leader | undefined, ...args: Args) => Standby | Promise<Standby>) | undefined;
  /**
   * The answer to a store that cannot be reached, so that nobody may lead: the error goes to the platform, which may
   * deliver again, or the delivery counts as one that does not lead. Misconfiguration is always thrown.
   * @defaultValue 'throw'
   */
  readonly onUnavailable?: "throw" | "skip" | undefined;
  /** The time from the abort of the signal to the end of the invocation by its platform. @defaultValue a tenth of its time, at most 5_000 */
  readonly shutdownMarginMs?: number | undefined;
  /**
   * The time that others wait if this invocation dies. Shorter than the invocation, it has to be renewed by `checkpoint()`.
   * @defaultValue as long as the invocation may last and a margin, or the longest that the store takes; 15_000 with renewals in the background
   */
  readonly leaseDurationMs?: number | undefined;
  /** Nobody else runs before so long after this invocation began, however quick it was: a twin that comes late finds it taken. @defaultValue 0 */
  readonly minimumHoldMs?: number | undefined;
  /** The one who renews a lease that is shorter than the work: the handler, by `await leadership.checkpoint()`, or a timer while it runs. @defaultValue 'checkpoint' */
  readonly renewal?: "checkpoint" | "background" | undefined;
  /** A text that others read while this invocation leads. */
  readonly value?: string | undefined;
  /** Aborts the leadership's signal as well: pass what your process aborts on SIGTERM. */
  readonly signal?: AbortSignal | undefined;
  /** As the elector's. */
  readonly logger?: LoggerOption;
  /** @defaultValue the system's clock */
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

/** The result of a delivery that does not lead, by default. */
export interface NotElected {
  readonly elected: false;
  /** The leader, if one is known. */
  readonly leader?: Leader | undefined;
}

/** Each option of each gate, by name. */
const OPTIONS: Readonly<Record<keyof Everything, true>> = {
  gate: true,
  store: true,
  election: true,
  onStandby: true,
  onUnavailable: true,
  shutdownMarginMs: true,
  leaseDurationMs: true,
  minimumHoldMs: true,
  renewal: true,
  value: true,
  signal: true,
  logger: true,
  clock: true,
  group: true,
  periodMs: true,
  missedTicks: true,
  occurrence: true,
  retentionMs: true,
  catchUp: true,
};

type Everything = ExclusiveOptions<never, LeaseStore, unknown> & StickyOptions<never, LeaseStore, unknown>;

const DEFAULT_MISSED_TICKS = 2;
/** The time of an invocation that options are tried on. */
const SAMPLE_MS = 60_000;
const OTHERS_OPTIONS = {
  sticky: ["group", "periodMs", "missedTicks"],
  oncePerTick: ["occurrence", "retentionMs", "catchUp"],
} as const;

export type AnyOptions = OnlyAsLeaderOptions<never, LeaseStore, unknown>;

/**
 * @param platformOptions the names of those that one platform adds.
 * @throws {ConfigurationError} {UnsupportedError} for what cannot work, before any delivery.
 */
export function checkGateOptions(options: AnyOptions, platformOptions: readonly string[]): void {
  const itsOwn = Object.fromEntries(platformOptions.map((name) => [name, true as const]));
  checkOptions("onlyAsLeader", options, { ...OPTIONS, ...itsOwn });
  const { store, election, gate = "exclusive" } = options;
  if (typeof store?.acquire !== "function" || typeof store.capabilities !== "object") {
    throw new ConfigurationError("onlyAsLeader needs a store: a LeaseStore, for instance new DynamoDBLeaseStore({ tableName }).");
  }
  checkName("election", election);
  const { name, capabilities } = store;
  if (capabilities.expiry === "observed" && !capabilities.storeClock) {
    throw new UnsupportedError(
      `${name} has no clock that shows how old a lease is: a function, which remembers nothing, could never replace an invocation that died.`,
      { election },
    );
  }
  oneOf("onUnavailable", options.onUnavailable, ["throw", "skip"]);
  oneOf("renewal", options.renewal, ["checkpoint", "background"]);
  if (options.shutdownMarginMs !== undefined) duration("shutdownMarginMs", options.shutdownMarginMs, 0);
  if (options.onStandby !== undefined && typeof options.onStandby !== "function") {
    throw new ConfigurationError("onStandby must be a function from the leader, if there is one, to what is returned.");
  }
  if (options.signal !== undefined && !(options.signal instanceof AbortSignal)) {
    throw new ConfigurationError("signal is not an AbortSignal.", { election });
  }
  if (options.gate === "sticky") checkSticky(options);
  else if (options.gate === "oncePerTick") checkOncePerTick(options);
  else checkExclusive(options, gate);
  checkElector(options);
}

/** Returns the store of the leases of an election's invocations: the election's, or that of its occurrences. */
export function leasesOf(options: AnyOptions): LeaseStore {
  return options.gate === "oncePerTick" ? occurrencesFor(options) : options.store;
}

/** Returns the occurrences of an election. @throws {UnsupportedError} if the store keeps none. */
export function occurrencesFor(
  options: Pick<OncePerTickOptions<never, LeaseStore, unknown>, "store" | "election" | "retentionMs">,
): OccurrenceStore {
  const { store, election, retentionMs = DEFAULT_RETENTION_MS } = options;
  return occurrencesOf(store, election, retentionMs, "the gate 'oncePerTick'");
}

/** Refuses what an invocation's elector would refuse, whatever time the invocation has. */
function checkElector(options: AnyOptions): void {
  const store = leasesOf(options);
  const { election, value, renewal, logger, clock, shutdownMarginMs = 0 } = options;
  const { minimumHoldMs } = options as { minimumHoldMs?: number };
  if (minimumHoldMs !== undefined) duration("minimumHoldMs", minimumHoldMs, 0);
  const { timing } = timeBudget(Math.max(SAMPLE_MS, 2 * shutdownMarginMs), options, store.capabilities);
  const reservation = options.gate === "sticky" ? reservationOf(options) : undefined;
  void new Elector({
    ...timing,
    store,
    election,
    value,
    minimumHoldMs,
    reservation,
    logger,
    clock,
    renewal: renewal === "background" ? "scheduled" : "manual",
  });
}

function checkExclusive(options: ExclusiveOptions<never, LeaseStore, unknown>, gate: unknown): void {
  oneOf("gate", gate, ["exclusive", "sticky", "oncePerTick"]);
  for (const [other, names] of Object.entries(OTHERS_OPTIONS)) {
    const given = names.find((name) => options[name] !== undefined);
    if (given) throw new ConfigurationError(`${given} is an option of the gate '${other}'; name that gate, or leave it out.`);
  }
}

/**
 * Returns the reservation of a group: it keeps the election for so long after its last sign of life. Half a period more than the ticks that it may miss: a
 * tick that comes late is not missed.
 */
export function reservationOf(options: {
  readonly group: string;
  readonly periodMs: number;
  readonly missedTicks?: number | undefined;
}): Reservation {
  const { group, periodMs, missedTicks = DEFAULT_MISSED_TICKS } = options;
  return { group, durationMs: (missedTicks + 0.5) * periodMs };
}

function checkSticky(options: StickyOptions<never, LeaseStore, unknown>): void {
  const { periodMs, missedTicks = DEFAULT_MISSED_TICKS, store } = options;
  duration("periodMs", periodMs);
  if (!Number.isInteger(missedTicks) || missedTicks < 1) {
    throw new ConfigurationError(`missedTicks is ${String(missedTicks)}; it must be a whole number from 1.`);
  }
  const { reservation } = store.capabilities;
  if (!reservation) {
    throw new UnsupportedError(
      `${store.name} has no clock to judge by whether a group has missed its ticks: the gate 'sticky' needs one.`,
      { election: options.election },
    );
  }
  if (reservation.toleranceMs < periodMs / 2) return;
  throw new ConfigurationError(
    `periodMs is ${periodMs}, and ${store.name} dates leases to ${reservation.toleranceMs} ms: use a period of more than ${2 * reservation.toleranceMs} ms.`,
  );
}

function checkOncePerTick(options: OncePerTickOptions<never, LeaseStore, unknown>): void {
  const { occurrence, retentionMs = DEFAULT_RETENTION_MS, catchUp } = options;
  checkRetention(retentionMs);
  if (occurrence !== undefined && typeof occurrence !== "function") {
    throw new ConfigurationError("occurrence must be a function from the handler's arguments to { name, scheduledMs }.");
  }
  if (catchUp !== undefined) checkCatchUp(catchUp);
}

function oneOf(name: string, value: unknown, words: readonly string[]): void {
  if (value === undefined || words.includes(value as string)) return;
  throw new ConfigurationError(`${name} is ${JSON.stringify(value)}; it must be '${words.join("' or '")}'.`);
}

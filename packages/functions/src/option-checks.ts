import { ConfigurationError, Elector, UnsupportedError, type LeaseStore, type LeaseStoreCapabilities } from "@leasehold/core";
import {
  type OccurrenceStore,
  type Reservation,
  checkChoice,
  checkBoolean,
  checkName,
  checkOptions,
  checkValue,
  defineOptions,
  duration,
} from "@leasehold/core/provider";
import {
  checkCatchUp,
  checkFailureOptions,
  checkOverlap,
  checkRetention,
  DEFAULT_RETENTION_MS,
  occurrencesOf,
} from "@leasehold/core/occurrences";
import { DELIVERY_BYTES } from "./claim-value.ts";
import type { AnyOptions, ExclusiveOptions, OncePerTickOptions, StickyOptions } from "./options.ts";
import { timeBudget, type TimeBudget, type TimeBudgetOptions } from "./time-budget.ts";

/** The names of the options of all gates. */
const OPTIONS = defineOptions<Everything>()(
  "gate store election onStandby waitMs onUnavailable onClaimed delivery shutdownMarginMs leaseDurationMs minimumHoldMs renewal",
  "value signal logger clock group periodMs missedTicks occurrence retentionMs catchUp keepResult startWithinMs overlap tries",
  "backoffMs pauseOnFailure",
);

type NamesOf<Options> = Options extends unknown ? keyof Options : never;
type Everything = Record<NamesOf<AnyOptions>, unknown>;

const DEFAULT_MISSED_TICKS = 2;
/**
 * The values with which options are checked when the function is loaded: the time of an invocation, and the name of an election.
 */
const SAMPLE_MS = 60_000;
const SAMPLE_ELECTION = "election";
const OTHERS_OPTIONS = {
  sticky: ["group", "periodMs", "missedTicks"],
  oncePerTick: [
    "occurrence",
    "retentionMs",
    "catchUp",
    "keepResult",
    "startWithinMs",
    "overlap",
    "tries",
    "backoffMs",
    "pauseOnFailure",
  ],
} as const;

/**
 * @param platformOptions the names of the options that a platform adds.
 * @throws {ConfigurationError} {UnsupportedError} for options that cannot work, before any delivery.
 */
export function checkGateOptions(options: AnyOptions, platformOptions: readonly string[]): void {
  const itsOwn = Object.fromEntries(platformOptions.map((name) => [name, true as const]));
  checkOptions("onlyAsLeader", options, { ...OPTIONS, ...itsOwn });
  for (const name of platformOptions.filter((each) => each.endsWith("Ms"))) {
    const given: unknown = Reflect.get(options, name);
    if (given !== undefined && typeof given !== "function") duration(name, given, 0);
  }
  const { store, election, gate = "exclusive" } = options;
  if (typeof store?.acquire !== "function" || typeof store.capabilities !== "object") {
    throw new ConfigurationError("onlyAsLeader needs a store: a LeaseStore, for instance new DynamoDBLeaseStore({ tableName }).");
  }
  const named = nameOf(election);
  const { name, capabilities } = store;
  if (capabilities.expiry === "observed" && !capabilities.storeClock) {
    throw new UnsupportedError(
      `${name} has no clock that shows how old a lease is: a function, which remembers nothing, could never replace an invocation that died.`,
      { election: named },
    );
  }
  checkChoice("onUnavailable", options.onUnavailable, ["throw", "skip"]);
  checkChoice("onClaimed", options.onClaimed, ["throw", "skip"]);
  checkChoice("renewal", options.renewal, ["checkpoint", "background"]);
  if (options.waitMs !== undefined) duration("waitMs", options.waitMs, 0);
  if (options.shutdownMarginMs !== undefined) duration("shutdownMarginMs", options.shutdownMarginMs, 0);
  if (options.onStandby !== undefined && typeof options.onStandby !== "function") {
    throw new ConfigurationError(
      "onStandby must be a function: it takes { reason, leader }, and returns the result of the delivery.",
    );
  }
  if (options.delivery !== undefined && typeof options.delivery !== "function") {
    throw new ConfigurationError(
      "delivery must be a function: it takes the handler's arguments, and returns the name of the request.",
    );
  }
  if (options.signal !== undefined && !(options.signal instanceof AbortSignal)) {
    throw new ConfigurationError("signal is not an AbortSignal.", { election: named });
  }
  if (options.gate === "sticky") checkSticky(options);
  else if (options.gate === "oncePerTick") checkOncePerTick(options);
  else checkExclusive(options, gate);
  checkElector(options);
}

/** Returns the store that holds the invocations' leases: the store of elections, or of the occurrences of one election. */
export function leasesOf(options: AnyOptions): LeaseStore {
  return options.gate === "oncePerTick" ? occurrencesFor(options, nameOf(options.election) ?? SAMPLE_ELECTION) : options.store;
}

/** Returns the occurrences of an election. @throws {UnsupportedError} if the store keeps none. */
export function occurrencesFor(
  options: Pick<OncePerTickOptions<never, LeaseStore, unknown>, "store" | "retentionMs">,
  election: string,
): OccurrenceStore {
  const { store, retentionMs = DEFAULT_RETENTION_MS } = options;
  return occurrencesOf(store, election, retentionMs, "the gate 'oncePerTick'");
}

/**
 * Returns the election's name, or `undefined` if each delivery names its own. @throws {ConfigurationError} if it is neither a
 * name nor a function.
 */
function nameOf(election: unknown): string | undefined {
  if (typeof election === "function") return undefined;
  checkName("election", election);
  return election;
}

/** Refuses options that the elector of every invocation would refuse, at any time left. */
function checkElector(options: AnyOptions): void {
  const store = leasesOf(options);
  const { value, logger, clock } = options;
  const { minimumHoldMs } = options as { minimumHoldMs?: number };
  if (minimumHoldMs !== undefined) duration("minimumHoldMs", minimumHoldMs, 0);
  const { maxValueBytes } = store.capabilities;
  if (value !== undefined) checkValue(value, maxValueBytes - DELIVERY_BYTES);
  const { timing, renewal } = sampleBudget(options, store.capabilities);
  const reservation = options.gate === "sticky" ? reservationOf(options) : undefined;
  if (options.gate === "oncePerTick" && (options.overlap ?? "allowAll") !== "allowAll") checkScheduleElector(options);
  void new Elector({
    ...timing,
    store,
    election: SAMPLE_ELECTION,
    value,
    minimumHoldMs,
    reservation,
    logger,
    clock,
    renewal: renewal === "background" ? "scheduled" : "manual",
  });
}

/**
 * Refuses options that the schedule's elector would refuse. The store may allow other lease durations there than for
 * occurrences.
 */
function checkScheduleElector(options: OncePerTickOptions<never, LeaseStore, unknown>): void {
  const { store, logger, clock } = options;
  const { leaseDurationMs } = sampleBudget(options, store.capabilities).timing;
  void new Elector({ store, election: SAMPLE_ELECTION, leaseDurationMs, logger, clock });
}

/** Returns the durations of an invocation that has some time to work in. */
function sampleBudget(options: TimeBudgetOptions, capabilities: LeaseStoreCapabilities): TimeBudget {
  const { shutdownMarginMs = 0 } = options;
  return timeBudget(Math.max(SAMPLE_MS, 2 * shutdownMarginMs), options, capabilities);
}

function checkExclusive(options: ExclusiveOptions<never, LeaseStore, unknown>, gate: unknown): void {
  checkChoice("gate", gate, ["exclusive", "sticky", "oncePerTick"]);
  for (const [other, names] of Object.entries(OTHERS_OPTIONS)) {
    const given = names.find((name) => options[name] !== undefined);
    if (given) throw new ConfigurationError(`${given} is an option of the gate '${other}'; name that gate, or leave it out.`);
  }
}

/**
 * Returns the reservation of a group. It keeps the election for `durationMs` after the group's last sign of life. The duration is
 * half a period longer than the ticks that the group may miss, because a late tick is not a missed one.
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
      { election: nameOf(options.election) },
    );
  }
  if (reservation.toleranceMs < periodMs / 2) return;
  throw new ConfigurationError(
    `periodMs is ${periodMs}, and ${store.name} dates leases to ${reservation.toleranceMs} ms: use a period of more than ${2 * reservation.toleranceMs} ms.`,
  );
}

function checkOncePerTick(options: OncePerTickOptions<never, LeaseStore, unknown>): void {
  const { occurrence, retentionMs = DEFAULT_RETENTION_MS, catchUp, startWithinMs } = options;
  checkRetention(retentionMs);
  if (startWithinMs !== undefined) duration("startWithinMs", startWithinMs);
  checkBoolean("keepResult", options.keepResult);
  checkOverlap(options.overlap, options.store, "the gate 'oncePerTick'");
  checkFailureOptions(options, options.store);
  if (occurrence !== undefined && typeof occurrence !== "function") {
    throw new ConfigurationError("occurrence must be a function from the handler's arguments to { name, scheduledMs }.");
  }
  if (catchUp !== undefined) checkCatchUp(catchUp);
}

import { ConfigurationError, timing, UnsupportedError } from "@leasehold/core";
import type { LeaseStore, LoggerOption, TimingOptions, TimingReport } from "@leasehold/core";
import { checkOptions, defaultCandidateId, defineOptions, duration, sharedClock } from "@leasehold/core/provider";
import type { Clock, RecordLeaseStore } from "@leasehold/core/provider";
import { checkText, FleetNames } from "./fleet-names.ts";
import { isWeight } from "./report.ts";
import { shardSource, type ShardSource, type ShardsOption } from "./shard-list.ts";

/** The options of a {@link Fleet}. Durations are in milliseconds. */
export interface FleetOptions extends Omit<TimingOptions, "cooldownMs"> {
  /** A store for which `capabilities.fleet` is true, on the store or on its `fleets`. All members use the same records. */
  readonly store: LeaseStore;
  /** The name of the fleet: up to 229 bytes of UTF-8, without a slash. Each kind of work needs a fleet of its own. */
  readonly fleet: string;
  /**
   * The number of shards, their names, or a function that returns the names. The function is called every `shardsRefreshMs`, and
   * must answer within `attemptTimeoutMs`. Give exactly one of `shards` and `atMost`.
   */
  readonly shards?: ShardsOption | undefined;
  /** The most members that work at the same time, each on one shard. It means this number of `shards`, with `maxShards: 1`. */
  readonly atMost?: number | undefined;
  /** The most shards that this member takes. With 0 it only coordinates. @defaultValue no limit */
  readonly maxShards?: number | undefined;
  /** The weight of this member, from 0.01 to 100. Members of one priority share the shards by weight. @defaultValue 1 */
  readonly weight?: number | undefined;
  /** A whole number. The members of the highest priority get shards first, up to their `maxShards`. @defaultValue 0 */
  readonly priority?: number | undefined;
  /** A label that people can read, of at most 240 bytes of UTF-8. @defaultValue `<host>-<pid>-<random>` */
  readonly memberId?: string | undefined;
  /**
   * True if a member writes the fence of each shard before its task begins. `store.fence(shard, …)` then guards writes. Each
   * start costs two more requests. Once one member has asked for fences, the whole fleet has them.
   * @defaultValue true if the store has an atomic fence
   */
  readonly fenced?: boolean | undefined;
  /** A held shard moves for balance only after no member has joined or left for this time. @defaultValue 30_000 */
  readonly settleMs?: number | undefined;
  /** While most shards are free, none is granted until no member has joined or left for this time. @defaultValue 3_000 */
  readonly gatherMs?: number | undefined;
  /** The time between two calls of the function `shards`. @defaultValue 30_000 */
  readonly shardsRefreshMs?: number | undefined;
  /** The lease of the member. With the default, a member keeps its shards through a freeze of 19 s. @defaultValue 30_000 */
  readonly leaseDurationMs?: number | undefined;
  /** The pause between two polls of a member while a change is under way. @defaultValue 1_000 */
  readonly retryPeriodMs?: number | undefined;
  /** The destination of log lines, as for an elector. `false` silences warnings, too. */
  readonly logger?: LoggerOption;
  /** @defaultValue the store's clock */
  readonly clock?: Clock | undefined;
}

/** The options that have a value once the defaults are filled in. */
type Filled = "clock" | "fenced" | "gatherMs" | "maxShards" | "memberId" | "priority" | "settleMs" | "shardsRefreshMs" | "weight";
export interface FleetSettings extends Readonly<{ [Name in Filled]: NonNullable<FleetOptions[Name]> }> {
  readonly store: RecordLeaseStore;
  readonly names: FleetNames;
  readonly shards: ShardSource;
  readonly timing: TimingReport;
  readonly logger: LoggerOption;
}

const OPTIONS = defineOptions<FleetOptions>()(
  "store fleet shards atMost maxShards weight priority memberId fenced settleMs gatherMs shardsRefreshMs leaseDurationMs",
  "renewIntervalMs renewDeadlineMs retryPeriodMs attemptTimeoutMs drainTimeoutMs stallTimeoutMs logger clock",
);

/** Sends nothing. @throws {ConfigurationError | UnsupportedError} for options that cannot work. The error shows the values. */
export function checkFleetOptions(options: FleetOptions): FleetSettings {
  checkOptions("Fleet", options, OPTIONS);
  const found = FUNCTIONS.find((name) => process.env[name]);
  if (found !== undefined)
    throw new UnsupportedError(
      `Functions have no fleet, and this process seems to be one (${found} is set): a member has to run all the time. ` +
        "Use the gates of @leasehold/functions, or a container.",
    );
  const { leaseDurationMs = DEFAULT_LEASE_MS, retryPeriodMs = 1_000, weight = 1, priority = 0, logger } = options;
  const store = storeOf(options.store);
  const clock = sharedClock(store, options.clock);
  const names = new FleetNames(options.fleet);
  const { shards, maxShards } = whichShards(options);
  if (!isWeight(weight)) throw new ConfigurationError(`weight is ${String(weight)}; it must be a number from 0.01 to 100.`);
  checkWhole("priority", priority);
  const { memberId = defaultCandidateId(clock), fenced = store.capabilities.fence === "atomic" } = options;
  checkText("memberId", memberId);
  const idBytes = Buffer.byteLength(memberId);
  if (idBytes > MAX_MEMBER_ID_BYTES)
    throw new ConfigurationError(`memberId has ${idBytes} bytes of UTF-8; at most ${MAX_MEMBER_ID_BYTES} fit.`);
  if (typeof fenced !== "boolean") throw new ConfigurationError(`fenced is ${String(fenced)}; it must be true or false.`);
  if (fenced && store.capabilities.fence !== "atomic")
    throw new UnsupportedError(`${store.name} has no atomic fence; leave 'fenced' out, or use another store.`);
  return {
    store,
    clock,
    names,
    shards: shardSource(shards, names),
    timing: timing({ ...options, leaseDurationMs, retryPeriodMs }, store.capabilities),
    memberId,
    weight,
    maxShards,
    priority,
    fenced,
    settleMs: duration("settleMs", options.settleMs ?? 30_000, 0),
    gatherMs: duration("gatherMs", options.gatherMs ?? 3_000, 0),
    shardsRefreshMs: duration("shardsRefreshMs", options.shardsRefreshMs ?? 30_000),
    logger,
  };
}

/** A platform of functions sets one of these variables. A Cloud Run service may run all the time, and has another variable. */
const FUNCTIONS = ["AWS_LAMBDA_FUNCTION_NAME", "FUNCTIONS_WORKER_RUNTIME", "FUNCTION_TARGET"];

/** Twice the lease of an elector, because a freeze beyond the lease costs a member all of its shards. */
export const DEFAULT_LEASE_MS = 30_000;

/** The most bytes of a `memberId`. The record of a session contains the `memberId` and the session's id. */
const MAX_MEMBER_ID_BYTES = 240;

/** Returns the store of a fleet's records. @throws {ConfigurationError | UnsupportedError} if this store cannot keep a fleet. */
export function storeOf(store: LeaseStore): RecordLeaseStore {
  const given = store as (LeaseStore & { readonly fleets?: RecordLeaseStore | undefined }) | null | undefined;
  if (typeof given?.capabilities !== "object" || typeof given.acquire !== "function")
    throw new ConfigurationError("store is not a LeaseStore. Make one first, for instance new SqlLeaseStore({ sqlite: path }).");
  if ("complete" in given)
    throw new UnsupportedError("The occurrences of a schedule are deleted after a time. Give the fleet the store itself.");
  const found = (given.fleets ?? given) as RecordLeaseStore;
  if (found.capabilities.fleet === true && found.capabilities.list === true && found.records) return found;
  throw new UnsupportedError(
    `${given.name} cannot keep a fleet. Use SQLite, PostgreSQL, MySQL, DynamoDB, Firestore, Azure blobs, etcd, Redis or memory.`,
  );
}

function whichShards({ shards, atMost, maxShards = Infinity }: FleetOptions): { shards: ShardsOption; maxShards: number } {
  if (maxShards !== Infinity) checkWhole("maxShards", maxShards, 0);
  if (shards !== undefined && atMost === undefined) return { shards, maxShards };
  if (shards !== undefined || atMost === undefined) throw new ConfigurationError("Give a fleet either shards or atMost.");
  if (maxShards !== Infinity)
    throw new ConfigurationError("atMost means maxShards: 1. Leave maxShards out, or give shards instead.");
  checkWhole("atMost", atMost, 1);
  return { shards: atMost, maxShards: 1 };
}

function checkWhole(name: string, value: unknown, least = -Infinity): void {
  if (Number.isSafeInteger(value) && (value as number) >= least) return;
  const from = least === -Infinity ? "" : ` from ${least}`;
  throw new ConfigurationError(`${name} is ${String(value)}; it must be a whole number${from}.`);
}

// The report of a member: the value of its session's lease. It says what the member has carried out, and what it has let go.

import { fromRanges, isCount, toRanges } from "./ranges.ts";
import type { Freed } from "./plan.ts";

/** A shard that a member has let go. */
export interface Ended {
  readonly shard: string;
  /** The term of the shard. */
  readonly since: number;
  /** `failed-late`: after at least a minute of work, so that it counts as a first failure. */
  readonly how: Exclude<Freed, "over" | "released">;
}

export interface Report {
  /** The beginning of the session's termId. */
  readonly id: string;
  /** The member's label. */
  readonly name: string;
  /** The revision of the plan that this member has carried out. */
  readonly applied: number;
  /** The shards that it was told to leave and that still run; all of its shards if it stops. `all`: too many to name. */
  readonly draining: ReadonlySet<string> | "all";
  readonly ended: readonly Ended[];
  /** It never starts anything again in this session. */
  readonly stopping: boolean;
  /** Its session has been renewed at least once. */
  readonly steady: boolean;
  /** It asks for a fence of each shard. */
  readonly fenced: boolean;
  /** A mark of its list of shards: members whose lists are equal have equal marks. */
  readonly list: string;
  readonly weight: number;
  readonly maxShards: number;
  readonly priority: number;
}

/** The most bytes of a report. Azure's metadata is the narrowest place. */
const MAX_BYTES = 2_048;
/** The most shards that a plan can have; a longer range is not valid. */
const MAX_SHARDS = 70_000;

const HOW = ["left", "returned", "failed", "failed-late"] as const;

/** The first version is 1. A member that cannot read a version takes the report for none. */
const VERSION = 1;

/**
 * Returns a report as text of at most {@link MAX_BYTES}. If the names do not fit, it says `all`, and names as many of the ended
 * shards as fit. The others follow once the plan shows that the first ones are free.
 */
export function encodeReport(report: Report): string {
  const { draining, ended } = report;
  if (draining !== "all") {
    const whole = text(report, toRanges(draining), ended);
    if (Buffer.byteLength(whole) <= MAX_BYTES) return whole;
  }
  let named = ended.length;
  for (;;) {
    const part = text(report, "all", ended.slice(0, named));
    if (named === 0 || Buffer.byteLength(part) <= MAX_BYTES) return part;
    named = Math.floor(named / 2);
  }
}

function text(report: Report, draining: unknown, ended: readonly Ended[]): string {
  const { id, name, applied, stopping, steady, fenced, list, weight, maxShards, priority } = report;
  // A shard that has left is no longer among those that drain. It is named where those are not.
  const named = ended.filter(({ how }) => how !== "left" || draining === "all");
  const ends = named.map(({ shard, since, how }) => [shard, since, HOW.indexOf(how)]);
  return JSON.stringify({
    v: VERSION,
    id,
    name,
    applied,
    list,
    ...(draining === "all" || (draining as unknown[]).length > 0 ? { draining } : {}),
    ...(ends.length > 0 ? { ended: ends } : {}),
    ...(stopping ? { stopping } : {}),
    ...(steady ? { steady } : {}),
    ...(fenced ? { fenced } : {}),
    ...(weight === 1 ? {} : { weight }),
    ...(maxShards === Infinity ? {} : { maxShards }),
    ...(priority === 0 ? {} : { priority }),
  });
}

/**
 * Returns the report in a session's value; `undefined` if it is none, which frees nothing. A share's number that is not valid
 * counts as its default.
 */
export function decodeReport(value: string | undefined): Report | undefined {
  let found: Partial<Record<string, unknown>>;
  try {
    found = JSON.parse(value ?? "") as typeof found;
  } catch {
    return undefined;
  }
  if (typeof found !== "object" || found === null || found["v"] !== VERSION) return undefined;
  const { id, name, applied, list, draining = [], ended = [], weight, maxShards, priority } = found;
  const drains = draining === "all" ? "all" : fromRanges(draining, MAX_SHARDS);
  const ends = Array.isArray(ended) ? (ended as unknown[]).map(endOf) : [undefined];
  if (typeof id !== "string" || id === "" || typeof name !== "string" || typeof list !== "string") return undefined;
  if (!isCount(applied) || !drains || !ends.every((end) => end !== undefined)) return undefined;
  return {
    id,
    name,
    applied,
    list,
    draining: drains,
    ended: ends,
    stopping: found["stopping"] === true,
    steady: found["steady"] === true,
    fenced: found["fenced"] === true,
    weight: isWeight(weight) ? weight : 1,
    maxShards: isCount(maxShards) ? maxShards : Infinity,
    priority: Number.isSafeInteger(priority) ? (priority as number) : 0,
  };
}

function endOf(found: unknown): Ended | undefined {
  if (!Array.isArray(found)) return undefined;
  const [shard, since, how] = found as unknown[];
  const named = HOW[how as number];
  return typeof shard === "string" && isCount(since) && named ? { shard, since, how: named } : undefined;
}

/** Reports whether a member may have this weight. */
export function isWeight(weight: unknown): weight is number {
  return typeof weight === "number" && weight >= 0.01 && weight <= 100;
}

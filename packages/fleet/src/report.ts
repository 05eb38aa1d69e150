// The report of a member is the value of its session's lease. It names the plan that was carried out, and the shards that ended.

import { isCount, parseObject, type Freed } from "./plan.ts";

/** A shard that a member has let go, with its term. */
export interface Ended {
  readonly shard: string;
  readonly since: number;
  /** `failed-late`: the task failed after at least a minute of work. It counts as a first failure. */
  readonly how: Exclude<Freed, "over" | "released">;
}

export interface Report {
  /** The id of the session, and the `memberId` of the member. */
  readonly id: string;
  readonly name: string;
  /** The revision of the plan that this member has carried out. */
  readonly applied: number;
  /** The highest revision that the process knows, from earlier sessions too. A plan with a lower one was deleted or restored. */
  readonly known: number;
  /** The shards that still run after a request to leave. While the member stops: all its shards. `all`: the names do not fit. */
  readonly draining: ReadonlySet<string> | "all";
  readonly ended: readonly Ended[];
  /** True if the member is stopping. It then starts no more shards in this session. */
  readonly stopping: boolean;
  /** True once the session has lasted for one renew interval. */
  readonly steady: boolean;
  readonly fenced: boolean;
  /** A hash of the member's list of shards. Members with equal lists have equal hashes. */
  readonly list: string;
  readonly weight: number;
  readonly maxShards: number;
  readonly priority: number;
}

/** The longest report, in bytes. The metadata of an Azure blob have the least room of all stores. */
const MAX_BYTES = 2_048;
/** The most shards that a plan can have; a longer range is not valid. */
const MAX_SHARDS = 70_000;

const HOW = ["left", "returned", "failed", "failed-late"] as const;

/** A member ignores a report of another version. */
const VERSION = 1;

/**
 * Returns at most {@link MAX_BYTES}. If the names do not fit, `draining` becomes `all`, and only some ended shards are named. Later
 * reports name the others, once the plan shows the first ones as free.
 */
export function encodeReport(report: Report): string {
  const { draining, ended } = report;
  if (draining !== "all") {
    const whole = text(report, toRanges(draining), ended);
    if (Buffer.byteLength(whole) <= MAX_BYTES) return whole;
  }
  for (let named = ended.length; ; named = Math.floor(named / 2)) {
    const part = text(report, "all", ended.slice(0, named));
    if (named === 0 || Buffer.byteLength(part) <= MAX_BYTES) return part;
  }
}

/** A report omits the fields that have these values. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  stopping: false,
  steady: false,
  fenced: false,
  weight: 1,
  maxShards: Infinity,
  priority: 0,
};

function text(report: Report, draining: readonly Range[] | "all", ended: readonly Ended[]): string {
  // A shard that ended with `left` needs no name, because `draining` lacks it. If `draining` is `all`, the shard is named.
  const named = ended.filter(({ how }) => how !== "left" || draining === "all");
  const ends = named.map(({ shard, since, how }) => [shard, since, HOW.indexOf(how)]);
  const known = report.known > report.applied ? report.known : undefined;
  const isDefault = (name: string, value: unknown): boolean =>
    value === DEFAULTS[name] || (Array.isArray(value) && value.length === 0);
  const whole = { v: VERSION, ...report, known, draining, ended: ends };
  return JSON.stringify(whole, (name, value: unknown) => (isDefault(name, value) ? undefined : value));
}

/** Returns `undefined` for a value that is no report. Such a value frees no shard. Replaces an invalid number by its default. */
export function decodeReport(value: string | undefined): Report | undefined {
  const found = parseObject(value);
  const { v, id, name, applied, known, list, draining: drains = [], ended: ends = [], weight, maxShards, priority } = found;
  const draining = drains === "all" ? "all" : fromRanges(drains, MAX_SHARDS);
  const ended = endsOf(ends);
  if (v !== VERSION || typeof id !== "string" || id === "" || typeof name !== "string" || typeof list !== "string")
    return undefined;
  if (!isCount(applied) || !draining || !ended) return undefined;
  return {
    id,
    name,
    applied,
    known: isCount(known) ? Math.max(known, applied) : applied,
    list,
    draining,
    ended,
    stopping: found["stopping"] === true,
    steady: found["steady"] === true,
    fenced: found["fenced"] === true,
    weight: isWeight(weight) ? weight : 1,
    maxShards: isCount(maxShards) ? maxShards : Infinity,
    priority: Number.isSafeInteger(priority) ? (priority as number) : 0,
  };
}

function endsOf(found: unknown): Ended[] | undefined {
  if (!Array.isArray(found)) return undefined;
  const ends = (found as unknown[]).flatMap((end) => {
    const [shard, since, how] = Array.isArray(end) ? (end as unknown[]) : [];
    const named = HOW[how as number];
    return typeof shard === "string" && isCount(since) && named ? { shard, since, how: named } : [];
  });
  return ends.length === found.length ? ends : undefined;
}

export function isWeight(weight: unknown): weight is number {
  return typeof weight === "number" && weight >= 0.01 && weight <= 100;
}

type Range = string | readonly [first: number, last: number];

/** Returns the names as ranges. A name that is no whole number in its usual form stays a name. */
export function toRanges(names: Iterable<string>): Range[] {
  const isNumber = (name: string): boolean => /^(?:0|[1-9]\d{0,8})$/.test(name);
  const all = [...names];
  const ranges: Array<[number, number]> = [];
  for (const number of all
    .filter(isNumber)
    .map(Number)
    .toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && last[1] + 1 === number) last[1] = number;
    else ranges.push([number, number]);
  }
  return [...all.filter((name) => !isNumber(name)), ...ranges];
}

/** Returns the names of ranges; `undefined` for a value that is not a list of ranges. */
export function fromRanges(ranges: unknown, limit: number): Set<string> | undefined {
  if (!Array.isArray(ranges)) return undefined;
  const names = new Set<string>();
  for (const range of ranges as unknown[]) {
    if (typeof range === "string") names.add(range);
    else {
      const [first, last, ...more] = Array.isArray(range) ? (range as unknown[]) : [];
      if (!isCount(first) || !isCount(last) || last < first || last - first > limit || more.length > 0) return undefined;
      for (let number = first; number <= last; number += 1) names.add(String(number));
    }
  }
  return names;
}

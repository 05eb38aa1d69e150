// Encodes the plan and the value of the head as text. The columns of the plan have fixed widths, so only the shards and the number
// of members determine its size.

import { isDeepStrictEqual } from "node:util";
import { isCount, MAX_SLOTS, parseObject, type Entry, type Member, type Plan } from "./plan.ts";

/** A member that cannot read a plan of a later version keeps its shards, starts no others, and does not coordinate. */
const VERSION = 1;

/** The longest plan, in bytes. Every store can hold a record with a plan of this length. */
export const MAX_PLAN_BYTES = 64_000;

/** The most bytes of a plan's parts: the head, each member, each shard. A shard's name counts extra, with quotes and comma. */
const HEAD_BYTES = 200;
const MEMBER_BYTES = 50;
const SHARD_BYTES = 7;

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
const BASE = DIGITS.length;
/** Flags in a shard's number of failures. `LEAVING`: the holder is asked to leave. `RELEASED`: an operator asked for that. */
const LEAVING = 8;
const RELEASED = 16;

/** Returns an upper bound of the bytes of a plan with these shards and this many members. */
export function planBytes(names: readonly string[], members: number): number {
  const each = areNumbered(names) ? 0 : names.reduce((sum, name) => sum + Buffer.byteLength(JSON.stringify(name)) + 1, 0);
  return HEAD_BYTES + MEMBER_BYTES * members + SHARD_BYTES * names.length + each;
}

/** Returns the number of members that fit into a plan with these shards. It is negative if the shards alone do not fit. */
export function roomBeside(names: readonly string[]): number {
  return Math.floor((MAX_PLAN_BYTES - planBytes(names, 0)) / MEMBER_BYTES);
}

/** Returns the plan as text. @throws if decoding it does not give the same plan. */
export function encodePlan(plan: Plan): string {
  const { revision, members, shards, leaseMs, fenced, isResetting } = plan;
  const names = [...shards.keys()];
  const entries = [...shards.values()];
  const ages = entries.map(({ slot, since }) => (slot === undefined ? 0 : revision - since));
  let width = 1;
  while (ages.some((age) => age >= BASE ** width)) width += 1;
  const text = JSON.stringify({
    v: VERSION,
    r: revision,
    d: leaseMs,
    f: fenced ? 1 : 0,
    ...(isResetting ? { x: 1 } : {}),
    m: [...members].map(([slot, { term, id, asked }]) => [slot, term, id, asked === 0 ? 0 : revision - asked + 1]),
    n: areNumbered(names) ? names.length : names,
    w: width,
    o: entries.map(({ slot }) => digits(slot === undefined ? 0 : slot + 1, 2)).join(""),
    s: ages.map((age) => digits(age, width)).join(""),
    l: entries
      .map(({ leaving, released, fails }) => digits(fails + (leaving ? LEAVING : 0) + (released ? RELEASED : 0), 1))
      .join(""),
  });
  // A slot, an age or a number of failures that is too large for its column would be cut off.
  if (!isDeepStrictEqual(decodePlan(text), plan))
    throw new Error(`The plan of revision ${revision} does not survive its encoding.`);
  return text;
}

/** @throws for text that is no plan of this version. */
export function decodePlan(text: string): Plan {
  const { v, r, d, f, x, m, n, w, o, s, l } = parseObject(text);
  if (isCount(v) && v !== VERSION)
    throw new Error(`The plan has version ${v}; this version of @leasehold/fleet reads version ${VERSION}.`);
  const names = v === VERSION ? namesOf(n) : undefined;
  if (!isCount(r) || !isCount(d) || !isCount(w) || w === 0 || !Array.isArray(m) || !names) throw notAPlan();
  const columns = [column(o, names.length, 2), column(s, names.length, w), column(l, names.length, 1)];
  const members = new Map((m as unknown[]).map((row) => memberOf(row, r)));
  const shards = new Map<string, Entry>();
  for (const [index, name] of names.entries()) {
    const [owner = 0, age = 0, flag = 0] = columns.map((numbers) => numbers[index]);
    if (owner > 0 && !members.has(owner - 1)) throw notAPlan();
    shards.set(name, {
      ...(owner === 0 ? { since: 0 } : { slot: owner - 1, since: r - age }),
      leaving: (flag & LEAVING) > 0,
      ...(flag & RELEASED ? { released: true as const } : {}),
      fails: flag % LEAVING,
    });
  }
  if (shards.size !== names.length) throw notAPlan();
  return { revision: r, leaseMs: d, fenced: f === 1, ...(x === 1 ? { isResetting: true } : {}), members, shards };
}

function notAPlan(): Error {
  return new Error("The plan cannot be read: it is damaged, or not a plan of @leasehold/fleet.");
}

function namesOf(found: unknown): string[] | undefined {
  if (isCount(found) && found <= MAX_PLAN_BYTES) return Array.from({ length: found }, (_, index) => String(index));
  return Array.isArray(found) && found.every((name) => typeof name === "string") ? (found as string[]) : undefined;
}

function memberOf(row: unknown, revision: number): [number, Member] {
  if (!Array.isArray(row)) throw notAPlan();
  const [slot, term, id, age] = row as unknown[];
  if (!isCount(slot) || slot >= MAX_SLOTS || !isCount(term) || typeof id !== "string" || id === "" || !isCount(age))
    throw notAPlan();
  return [slot, { term, id, asked: age === 0 ? 0 : revision - age + 1 }];
}

function column(found: unknown, count: number, width: number): number[] {
  if (typeof found !== "string" || found.length !== count * width || /[^\w-]/.test(found)) throw notAPlan();
  const values = Array.from(found, (digit) => DIGITS.indexOf(digit));
  const valueAt = (start: number): number => values.slice(start, start + width).reduce((sum, value) => sum * BASE + value, 0);
  return Array.from({ length: count }, (_, index) => valueAt(index * width));
}

function digits(value: number, width: number): string {
  let text = "";
  for (let rest = value; text.length < width; rest = Math.floor(rest / BASE)) text = (DIGITS[rest % BASE] as string) + text;
  return text;
}

function areNumbered(names: readonly string[]): boolean {
  return names.every((name, index) => name === String(index));
}

/** The value of the head. The coordinator leases the head, and every member polls it. */
export interface Head {
  /** The last revision of the plan whose write was acknowledged. */
  readonly revision: number;
  /** The id of that write. Two writes may have the same revision, if a failover has undone one of them. */
  readonly id: string;
  /** True while a change is under way. Members then poll often. */
  readonly isBusy: boolean;
  /** The number of members, and the bytes of the plan. Members use both to spread their reads of a large plan. */
  readonly members: number;
  readonly bytes: number;
}

export const NO_HEAD: Head = { revision: 0, id: "", isBusy: true, members: 0, bytes: 0 };

export function encodeHead({ revision, id, isBusy, members, bytes }: Head): string {
  return JSON.stringify({ r: revision, i: id, b: isBusy ? 1 : 0, m: members, s: bytes });
}

/** Parses the value of the head. For any other text it returns `NO_HEAD`, so that members poll often. */
export function decodeHead(value: string | undefined): Head {
  const { r, i, b, m, s } = parseObject(value);
  const [revision = 0, members = 0, bytes = 0] = [r, m, s].map((one) => (isCount(one) ? one : undefined));
  return { revision, id: typeof i === "string" ? i : "", isBusy: b !== 0, members, bytes };
}

// The plan of a fleet, and the rules that decide when a shard is free. Uses no clock and no store.

import type { LeaseRecord } from "@leasehold/core/provider";
import type { Report } from "./report.ts";

export interface Entry {
  /** The slot of the member that holds the shard; undefined while it is free. */
  readonly slot?: number | undefined;
  /** The revision that granted the shard, which is the shard's fencing term. 0 while the shard is free. */
  readonly since: number;
  /** True once the holder is asked to leave the shard. This is never withdrawn: a shard that is to stay is granted again. */
  readonly leaving: boolean;
  /** True if an operator asked the holder to leave. Another member then gets the shard. */
  readonly released?: true;
  /** The number of failures in a row, at most {@link MAX_FAILS}. */
  readonly fails: number;
}

/** A session that the plan may name: one term of a slot's record. */
export interface Member {
  readonly term: number;
  /** A random id of the session. The term is not enough, because a record that was deleted or restored may repeat a term. */
  readonly id: string;
  /** The last revision that asked this member to leave a shard; 0 if none did. */
  readonly asked: number;
}

export interface Plan {
  readonly revision: number;
  /** The longest lease of any session that the plan has named, in milliseconds. */
  readonly leaseMs: number;
  /** True once a member has asked for fences. Only a reset turns it off. */
  readonly fenced: boolean;
  /** True while a reset is under way. No shard is granted until the reset is over. */
  readonly isResetting?: true;
  readonly members: ReadonlyMap<number, Member>;
  readonly shards: ReadonlyMap<string, Entry>;
}

export function emptyPlan(revision: number, leaseMs: number): Plan {
  return { revision, leaseMs, fenced: false, members: new Map(), shards: new Map() };
}

/** The count of failures in a row stops at this number. At this number the rest has its greatest length. */
export const MAX_FAILS = 7;

/** The number of slots. The plan has two characters for a slot, and one of their values means that the shard is free. */
export const MAX_SLOTS = 4_095;

/** The record of a slot, as a coordinator has last read it. */
export interface SeenSlot {
  readonly term: number;
  readonly state: "held" | "ending" | "expired" | "vacant" | "unknown";
  /** Absent if the session has published no report that this version can read. */
  readonly report?: Report | undefined;
}

export type Seen = ReadonlyMap<number, SeenSlot>;

/** The reason why a shard is free again. */
export type Freed = "over" | "left" | "released" | "returned" | "failed" | "failed-late";

/** Returns the candidate id with which a session holds its slot. The slot's record keeps this id after the session. */
export function sessionName(memberId: string, id: string): string {
  return `${memberId}#${id}`;
}

export const ID_LENGTH = 8;
/** The id of a session is in its report, in the plan and in the slot's record. */
export function idOf({ candidateId }: { readonly candidateId: string }): string {
  return candidateId.slice(-ID_LENGTH);
}

/** Returns the candidate id with which a coordinator acquires the slot of an expired session. */
export function enderName(session: string): string {
  return session.endsWith(ENDED) ? session : session + ENDED;
}
const ENDED = " ended";

export type Fate = "held" | "over" | "gone";

/**
 * Returns what a slot's record proves about a session. `over` is final: only the session itself, or the coordinator that ended
 * it, writes such a record. A later term proves nothing, because the record may have been deleted or restored during the session.
 */
export function fateOf(id: string, record: Pick<LeaseRecord, "candidateId" | "termId" | "bars"> | undefined): Fate {
  const name = record?.candidateId ?? "";
  if (name.endsWith(`#${id}${ENDED}`)) return "over";
  if (!name.endsWith(`#${id}`)) return "gone";
  if (record?.termId !== null) return "held";
  // The repair of a lost record leaves a hold in it, and the session may still run. So a record with a block proves no end.
  return record.bars ? "gone" : "over";
}

export function isSession(member: Member, seen: SeenSlot | undefined): boolean {
  return seen?.term === member.term && seen.report?.id === member.id;
}

/**
 * Returns how the holder has let the shard go; `undefined` if no report shows that. The answer is final: a member reports an end
 * only after the end. It never starts a shard again in the same term.
 */
export function letGo(shard: string, entry: Entry, member: Member, seen: SeenSlot | undefined): Freed | undefined {
  if (!isSession(member, seen) || !seen?.report) return undefined;
  const { applied, draining, ended, stopping } = seen.report;
  const end = ended.find((one) => one.shard === shard && one.since === entry.since);
  if (end) return end.how === "left" && entry.released ? "released" : end.how;
  if (draining === "all" || draining.has(shard)) return undefined;
  if (stopping) return "left";
  if (!entry.leaving || applied < member.asked) return undefined;
  return entry.released ? "released" : "left";
}

export function ownerOf({ members }: Plan, { slot }: Entry): Member | undefined {
  return slot === undefined ? undefined : members.get(slot);
}

/** Reports whether a decoded value is a whole number from 0. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Parses a JSON object. Returns an empty object for any other text. */
export function parseObject(text: string | undefined): Partial<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text ?? "")) as Partial<Record<string, unknown>>;
  } catch {
    return {};
  }
}

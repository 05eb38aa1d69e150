// The plan of a fleet, and the facts by which a shard is free. Pure: no clock, no store.

import type { LeaseRecord } from "@leasehold/core/provider";
import type { Report } from "./report.ts";

export interface Entry {
  /** The slot of the member that holds the shard; undefined while it is free. */
  readonly slot?: number | undefined;
  /** The revision that granted the shard: its fencing term. 0 before the first grant. */
  readonly since: number;
  /** The holder is asked to leave. It is never undone: a shard that is to stay is granted anew. */
  readonly leaving: boolean;
  /** An operator asked for it. Another member gets the shard. */
  readonly released?: true;
  /** The failures in a row, at most {@link MAX_FAILS}. */
  readonly fails: number;
}

/** A session that the plan may name: one term of a slot's record. */
export interface Member {
  readonly term: number;
  /** Random, one for each session. A record that was deleted or restored may repeat a term. */
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

/** Failures in a row are counted up to this number, at which the rest is longest. */
export const MAX_FAILS = 7;

/** Slots are numbered below this. The plan has two characters for a slot, and one number means that the shard is free. */
export const MAX_SLOTS = 4_095;

/** The record of a slot, as a coordinator has last read it. */
export interface SeenSlot {
  readonly term: number;
  readonly state: "held" | "ending" | "expired" | "vacant" | "unknown";
  /** Absent if the session has published no report, or one that this version cannot read. */
  readonly report?: Report | undefined;
}

export type Seen = ReadonlyMap<number, SeenSlot>;

/** The reason why a shard is free again. */
export type Freed = "over" | "left" | "released" | "returned" | "failed" | "failed-late";

/** The name under which a session holds its slot. The record keeps it after the session. */
export function sessionName(memberId: string, id: string): string {
  return `${memberId}#${id}`;
}

/** The name under which a coordinator takes the slot of an expired session. */
export function enderName(session: string): string {
  return session.endsWith(ENDED) ? session : session + ENDED;
}
const ENDED = " ended";

export type Fate = "held" | "over" | "gone";

/**
 * Returns what a slot's record proves about a session. `over` stays true: only the session itself and the coordinator that ended it
 * write such a record. A later term proves nothing, because the record may have been deleted or restored while the session goes on.
 */
export function fateOf(id: string, record: Pick<LeaseRecord, "candidateId" | "termId" | "bars"> | undefined): Fate {
  const name = record?.candidateId ?? "";
  if (name.endsWith(`#${id}${ENDED}`)) return "over";
  if (!name.endsWith(`#${id}`)) return "gone";
  if (record?.termId !== null) return "held";
  // A repair leaves a hold in the record, and the session may still go on. So a record with a block proves no end.
  return record.bars ? "gone" : "over";
}

/** Reports whether the record shows this very session. */
export function isSession(member: Member, seen: SeenSlot | undefined): boolean {
  return seen?.term === member.term && seen.report?.id === member.id;
}

/**
 * Returns how the holder has let the shard go; `undefined` if it has not. The answer stays true: a member lets a shard go
 * before it reports that, and never starts the shard again in the same term.
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

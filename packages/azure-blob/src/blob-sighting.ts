import type { LeaseSnapshot, LeaseState, Reservation } from "@leasehold/core";
import { barOf, type Bar } from "@leasehold/core/provider";
import type { BlobProperties } from "./blob-requests.ts";
import type { BreakNote, OrderNote, TermMetadata } from "./schema.ts";

/** The longest lease that the service gives; an election's own may be shorter. */
export const MAX_LEASE_MS = 60_000;

/** What one look at an election's blob told. */
export interface Look extends BlobProperties {
  readonly term: TermMetadata;
  /** When the reply was in, by the monotonic clock. */
  readonly seenMs: number;
  /** What an administrator left for this very term; read only while the lease is breaking or broken. */
  readonly note: BreakNote | undefined;
  /** How old the note is, by the service's own clock. */
  readonly noteAgeMs?: number | undefined;
}

/** What this process has seen of one election, up to its last look. */
export interface Memory {
  readonly look: Look;
  /** Since when every look showed this term under a lease, by the monotonic clock; undefined once one did not. */
  readonly leasedSinceMs: number | undefined;
  /** When a look first showed this term's lease broken. */
  readonly brokenSinceMs: number | undefined;
}

/** The memory with one more look in it. */
export function remember(before: Memory | undefined, look: Look, nowMs: number): Memory {
  const sameTerm = before?.look.term.term === look.term.term;
  // Once a look has shown this term without its lease, it never counts as led again.
  const leasedSinceMs = sameTerm ? before?.leasedSinceMs : nowMs;
  return {
    look,
    leasedSinceMs: look.leaseState === "leased" ? leasedSinceMs : undefined,
    brokenSinceMs: look.leaseState === "broken" ? ((sameTerm ? before?.brokenSinceMs : undefined) ?? nowMs) : undefined,
  };
}

/** What a look tells, with what was seen before it. `ours`: this process knows itself to hold the term. */
export function snapshotOf(
  election: string,
  look: Look,
  memory: Memory | undefined,
  ours: boolean,
  nowMs: number,
): LeaseSnapshot {
  const { term, candidateId, value, leaseDurationMs } = look.term;
  const state = ours && look.leaseState === "leased" ? "held" : stateOf(look, memory, nowMs);
  // Under a lease that is not this term's (any more), the term's holder is not even a guess.
  const over =
    look.leaseState === "leased" &&
    state === "unknown" &&
    (look.infinite || look.term.holdMs !== undefined || memory?.leasedSinceMs === undefined);
  const shown = state !== "vacant" && !over;
  const bar = barOf({
    state,
    holdMs: holdLeftMs(look, nowMs),
    transferTo: transferTarget(look, memory, nowMs),
    group: reservedGroup(look, nowMs),
  });
  const reason = orderOf(look)?.reason;
  return {
    election,
    state,
    term,
    ...(shown && candidateId !== undefined ? { holder: candidateId } : {}),
    ...(shown && value !== undefined ? { value } : {}),
    ...(leaseDurationMs === undefined ? {} : { leaseDurationMs }),
    ...(bar ? { bar } : {}),
    ...(reason === undefined ? {} : { endingReason: reason }),
  };
}

/** What bars an acquisition, should nobody have the lease: that is the service's to say. */
export function barOfFree(look: Look, memory: Memory | undefined, nowMs: number): Bar | undefined {
  return barOf({ state: "vacant", transferTo: transferTarget(look, memory, nowMs), group: reservedGroup(look, nowMs) });
}

/** What is left of a hold: as long as the service says that the lease is breaking, some of it is. */
function holdLeftMs(look: Look, nowMs: number): number | undefined {
  const { holdMs } = look.term;
  if (holdMs === undefined || look.leaseState !== "breaking") return undefined;
  return Math.max(holdMs - unchangedMs(look, nowMs), 1);
}

/** The candidate that an administrator hands over to, as long as it may take its time. */
function transferTarget(look: Look, memory: Memory | undefined, nowMs: number): string | undefined {
  const order = orderOf(look);
  const { candidateId, timeoutMs } = order?.transfer ?? {};
  if (timeoutMs === undefined) return undefined;
  const { leaseDurationMs = MAX_LEASE_MS, holdMs } = look.term;
  if (order === look.term.order) return unchangedMs(look, nowMs) < timeoutMs ? candidateId : undefined;
  // From when this process saw the lease broken or, for one that saw nothing, from when it must have been: a lease that
  // breaks lasts no longer than it had to run, or than its hold.
  const brokenForMs = nowMs - (memory?.brokenSinceMs ?? nowMs);
  const overdue = (look.noteAgeMs ?? 0) > timeoutMs + (holdMs === undefined ? leaseDurationMs : MAX_LEASE_MS);
  return brokenForMs < timeoutMs && !overdue ? candidateId : undefined;
}

/** The last order of an administrator's that concerns the term. */
export function orderOf({ term, note }: Look): OrderNote | undefined {
  return term.order && note?.after !== term.order.id ? term.order : note;
}

/**
 * The group that the last term reserves the election for, whether or not anybody holds its lease at present. It counts
 * from the last time that the metadata was written, by the least that can have passed since; an administrator's break ends it.
 */
function reservedGroup(look: Look, nowMs: number): string | undefined {
  return reservationLeft(look, nowMs)?.group;
}

/** What is left of the last term's reservation; see {@link reservedGroup}. */
export function reservationLeft(look: Look, nowMs: number): Reservation | undefined {
  const { reservation } = look.term;
  if (!reservation || orderOf(look)?.reason !== undefined) return undefined;
  const durationMs = Math.ceil(reservation.durationMs - unchangedMs(look, nowMs));
  return durationMs > 0 ? { ...reservation, durationMs } : undefined;
}

/** Whether nobody has the lease, so that its metadata can be written without it. */
export function isFree({ leaseState }: Look): boolean {
  return leaseState !== "leased" && leaseState !== "breaking";
}

/** How long the blob has not been written to, at least: by the service's clock until the look, and by this process's since. */
function unchangedMs(look: Look, nowMs: number): number {
  return look.unchangedMs + nowMs - look.seenMs;
}

/**
 * A lease is acquired in one step and its term written in a second. Between the two, and after a crash there, the
 * metadata still names the term before. Such a lease is never renewed, so one that every look has found for longer than
 * the longest lease belongs to the term that is named, unless it changed hands unseen between two of the looks; of a
 * younger one a reader cannot tell. It is a report; no decision rests on it.
 *
 * A term that ends with a hold says so before its lease begins to break, so that even a reader who has seen nothing of it
 * tells that from an administrator's break: nobody leads, while nobody may acquire yet.
 */
function stateOf({ leaseState, infinite, term }: Look, memory: Memory | undefined, nowMs: number): LeaseState {
  const left = term.holdMs !== undefined;
  if (leaseState === "available" || (left && leaseState !== "leased")) return "vacant";
  if (leaseState === "expired" || leaseState === "broken") return "expired";
  if (leaseState === "breaking") return "ending";
  const leasedForMs = memory?.leasedSinceMs === undefined || infinite || left ? 0 : nowMs - memory.leasedSinceMs;
  return leasedForMs > MAX_LEASE_MS ? "held" : "unknown";
}

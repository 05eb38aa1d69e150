import type { LeaseSnapshot, LeaseState, Reservation } from "@leasehold/core";
import { blockerOf, type Blocker } from "@leasehold/core/provider";
import type { BlobProperties } from "./requests.ts";
import type { BreakNote, OrderNote, TermMetadata } from "./schema.ts";

/** The longest lease that the service gives; an election's own may be shorter. */
export const MAX_LEASE_MS = 60_000;

/** An election's blob as one read showed it. */
export interface Reading extends Omit<BlobProperties, "contentLength"> {
  readonly term: TermMetadata;
  /** When the reply was in, by the monotonic clock. */
  readonly seenMs: number;
  /** An administrator's note for this very term; read only while the lease is breaking or broken. */
  readonly note?: BreakNote | undefined;
  /** The note's age, by the service's own clock. */
  readonly noteAgeMs?: number | undefined;
}

/** All that this process has seen of an election's blob, up to its last read. */
export interface Sighting extends Reading {
  /** Since when every read showed this term under a lease, by the monotonic clock; undefined once one did not. */
  readonly leasedSinceMs: number | undefined;
  /** When a read first showed this term's lease broken. */
  readonly brokenSinceMs: number | undefined;
  /** No reply has shown that the lease is free: this process only knows that its own term is over. */
  readonly isAssumed?: boolean | undefined;
}

/** Returns the sighting with one more read in it. */
export function sighted(before: Sighting | undefined, reading: Reading): Sighting {
  const { leaseState, seenMs } = reading;
  const sameTerm = before?.term.term === reading.term.term;
  // Once a read has shown this term without its lease, it never counts as led again.
  const leasedSinceMs = sameTerm ? before?.leasedSinceMs : seenMs;
  return {
    ...reading,
    leasedSinceMs: leaseState === "leased" ? leasedSinceMs : undefined,
    brokenSinceMs: leaseState === "broken" ? ((sameTerm ? before?.brokenSinceMs : undefined) ?? seenMs) : undefined,
  };
}

/** Returns the sighting as readers get it. `isOurs`: this process knows that it holds the term. */
export function snapshotOf(election: string, sighting: Sighting, isOurs: boolean, nowMs: number): LeaseSnapshot {
  const { term, candidateId, value, leaseDurationMs } = sighting.term;
  const state = isOurs && sighting.leaseState === "leased" ? "held" : stateOf(sighting, nowMs);
  // Under a lease that is not this term's (any more), the term's holder is not even a guess.
  const over =
    sighting.leaseState === "leased" &&
    state === "unknown" &&
    (sighting.infinite || sighting.term.holdMs !== undefined || sighting.leasedSinceMs === undefined);
  const shown = state !== "vacant" && !over;
  const bar = blockerOf({
    state,
    holdMs: holdLeftMs(sighting, nowMs),
    transferTo: transferTarget(sighting, nowMs),
    group: reservationLeft(sighting, nowMs)?.group,
  });
  const reason = orderOf(sighting)?.reason;
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

/**
 * Returns what bars an acquisition if nobody has the lease. The service says whether somebody has it, when the lease is
 * requested.
 */
export function barOfFree(sighting: Sighting, nowMs: number): Blocker | undefined {
  const transferTo = transferTarget(sighting, nowMs);
  return blockerOf({ state: "vacant", transferTo, group: reservationLeft(sighting, nowMs)?.group });
}

/** Returns an administrator's last order that concerns the term. */
export function orderOf({ term, note }: Reading): OrderNote | undefined {
  return term.order && note?.after !== term.order.id ? term.order : note;
}

/**
 * Returns the part of the last term's reservation that is left, whether or not anybody holds its lease at present. It
 * counts from the last write of the metadata, by the least time that can have passed since. A break ends it, and a transfer takes
 * its place.
 */
export function reservationLeft(reading: Reading, nowMs: number): Reservation | undefined {
  const { reservation } = reading.term;
  if (!reservation || orderOf(reading)) return undefined;
  const durationMs = Math.ceil(reservation.durationMs - unchangedMs(reading, nowMs));
  return durationMs > 0 ? { ...reservation, durationMs } : undefined;
}

/** Reports whether nobody has the lease, so that the metadata can be written without it. */
export function isFree({ leaseState }: Reading): boolean {
  return leaseState !== "leased" && leaseState !== "breaking";
}

/** Returns the rest of a hold. As long as the service says that the lease is breaking, some of it is left. */
function holdLeftMs(reading: Reading, nowMs: number): number | undefined {
  const { holdMs } = reading.term;
  if (holdMs === undefined || reading.leaseState !== "breaking") return undefined;
  return Math.max(holdMs - unchangedMs(reading, nowMs), 1);
}

/** Returns the candidate that an administrator hands over to, as long as it may take its time. */
function transferTarget(sighting: Sighting, nowMs: number): string | undefined {
  const order = orderOf(sighting);
  if (!order?.transfer) return undefined;
  const { candidateId, timeoutMs } = order.transfer;
  const { leaseDurationMs = MAX_LEASE_MS, holdMs } = sighting.term;
  if (order === sighting.term.order) return unchangedMs(sighting, nowMs) < timeoutMs ? candidateId : undefined;
  // It counts from when this process saw the lease broken. A process that saw nothing counts from when the lease must
  // have been: a lease that breaks lasts no longer than it had to run, or than its hold.
  const brokenForMs = nowMs - (sighting.brokenSinceMs ?? nowMs);
  const endedWithinMs = holdMs === undefined ? leaseDurationMs : MAX_LEASE_MS;
  const overdue = sighting.noteAgeMs !== undefined && sighting.noteAgeMs > timeoutMs + endedWithinMs;
  return brokenForMs < timeoutMs && !overdue ? candidateId : undefined;
}

/**
 * Returns the least time since the blob was written to: by the service's clock until the read, and by this process's
 * since.
 */
function unchangedMs(reading: Reading, nowMs: number): number {
  return reading.unchangedMs + nowMs - reading.seenMs;
}

/**
 * Returns the state of the term that the metadata names. No decision rests on it; it is a report.
 *
 * A lease is acquired in one step and its term written in a second. Between the two, and after a crash there, the
 * metadata still names the term before. Such a lease is never renewed, so one that every read has found for longer than
 * the longest lease belongs to the term that is named, unless it changed hands unseen between two of the reads. A
 * younger one may be either's.
 *
 * A term that ends with a hold says so before its lease begins to break. Nobody leads then, while nobody may acquire yet:
 * even a process without a memory can tell that from an administrator's break.
 */
function stateOf({ leaseState, infinite, term, leasedSinceMs }: Sighting, nowMs: number): LeaseState {
  const left = term.holdMs !== undefined;
  if (leaseState === "available" || (left && leaseState !== "leased")) return "vacant";
  if (leaseState === "expired" || leaseState === "broken") return "expired";
  if (leaseState === "breaking") return "ending";
  if (leasedSinceMs === undefined || infinite || left) return "unknown";
  return nowMs - leasedSinceMs > MAX_LEASE_MS ? "held" : "unknown";
}

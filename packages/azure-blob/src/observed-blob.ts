import type { LeaseSnapshot, PastTerm } from "@leasehold/core";
import { type LeaseState, type Reservation, blockerOf, historyOf, type Blocker, type TermRecord } from "@leasehold/core/provider";
import type { BlobProperties } from "./requests.ts";
import type { BreakNote, OrderNote, TermMetadata } from "./schema.ts";

/** The longest lease that the service gives. An election's own lease may be shorter. */
export const MAX_LEASE_MS = 60_000;

/** An election's blob as one read showed it. */
export interface BlobReading extends Omit<BlobProperties, "contentLength"> {
  readonly term: TermMetadata;
  /** The instant at which the reply arrived, by the monotonic clock. */
  readonly seenMs: number;
  /** An administrator's note for this term. It is read only while the lease is breaking or broken. */
  readonly note?: BreakNote | undefined;
  /** The note's age, by the service's own clock. */
  readonly noteAgeMs?: number | undefined;
}

/** An election's blob as this process has observed it, up to its last read. */
export interface ObservedBlob extends BlobReading {
  /** The time since which every read showed this term under a lease, by the monotonic clock. Undefined once a read did not. */
  readonly leasedSinceMs: number | undefined;
  /** The instant at which a read first showed that this term's lease is broken. */
  readonly brokenSinceMs: number | undefined;
  /** True if no reply has shown yet that the lease is free. This process only knows that its own term is over. */
  readonly isAssumed?: boolean | undefined;
}

/** Returns `before` with one more read in it. */
export function sighted(before: ObservedBlob | undefined, reading: BlobReading): ObservedBlob {
  const { leaseState, seenMs } = reading;
  const sameTerm = before?.term.term === reading.term.term;
  // A term that a read has shown without its lease never counts as led again.
  const leasedSinceMs = sameTerm ? before?.leasedSinceMs : seenMs;
  return {
    ...reading,
    leasedSinceMs: leaseState === "leased" ? leasedSinceMs : undefined,
    brokenSinceMs: leaseState === "broken" ? ((sameTerm ? before?.brokenSinceMs : undefined) ?? seenMs) : undefined,
  };
}

/** Returns the snapshot for readers. `isOurs`: this process knows that it holds the term. */
export function snapshotOf(election: string, observed: ObservedBlob, isOurs: boolean, nowMs: number): LeaseSnapshot {
  const { term, candidateId, value, leaseDurationMs } = observed.term;
  const state = isOurs && observed.leaseState === "leased" ? "held" : stateOf(observed, nowMs);
  // The lease is not this term's, or is no longer. So the snapshot names no holder for the term.
  const over =
    observed.leaseState === "leased" &&
    state === "unknown" &&
    (observed.infinite || observed.term.holdMs !== undefined || observed.leasedSinceMs === undefined);
  const shown = state !== "vacant" && !over;
  const bar = blockerOf({
    state,
    holdMs: holdLeftMs(observed, nowMs),
    transferTo: transferTarget(observed, nowMs),
    group: reservationLeft(observed, nowMs)?.group,
  });
  const reason = orderOf(observed)?.reason;
  const history = historyOf(pastOf(observed));
  return {
    election,
    state,
    term,
    ...(shown && candidateId !== undefined ? { holder: candidateId } : {}),
    ...(shown && value !== undefined ? { value } : {}),
    ...(leaseDurationMs === undefined ? {} : { leaseDurationMs }),
    ...(bar ? { bar } : {}),
    ...(reason === undefined ? {} : { endingReason: reason }),
    ...(history.length > 0 ? { history } : {}),
  };
}

/** Returns the blob's term and how it ended, for the history. The history is only a report: no decision depends on it. */
export function pastOf(observed: ObservedBlob): TermRecord {
  const { term, history, holdMs } = observed.term;
  const isOver = isFree(observed) || holdMs !== undefined;
  return { term, termId: isOver ? null : "", history, end: endOf(observed) };
}

/**
 * Returns how the term ended, if it is over. An administrator writes a note only while the term's lease lasts. A release without
 * a hold writes nothing.
 */
function endOf({ leaseState, term: { holdMs }, note, isAssumed }: ObservedBlob): PastTerm["end"] {
  if (note) return note.transfer ? "transferred" : "broken";
  if (holdMs !== undefined) return "released";
  if (isAssumed || leaseState === "leased") return "unknown";
  return leaseState === "available" ? "released" : leaseState === "expired" ? "expired" : "broken";
}

/**
 * Returns the blocker of an acquisition, if the lease is free. The service decides whether it is free when the lease is
 * requested.
 */
export function barOfFree(observed: ObservedBlob, nowMs: number): Blocker | undefined {
  const transferTo = transferTarget(observed, nowMs);
  return blockerOf({ state: "vacant", transferTo, group: reservationLeft(observed, nowMs)?.group });
}

/** Returns an administrator's last order for the term. */
export function orderOf({ term, note }: BlobReading): OrderNote | undefined {
  return term.order && note?.after !== term.order.id ? term.order : note;
}

/**
 * Returns what is left of the last term's reservation, even if a candidate holds the blob's lease at present. The reservation
 * counts from the last write of the metadata, by the least time that can have passed since. A break ends it, and a transfer
 * replaces it.
 */
export function reservationLeft(reading: BlobReading, nowMs: number): Reservation | undefined {
  const { reservation } = reading.term;
  if (!reservation || orderOf(reading)) return undefined;
  const durationMs = Math.ceil(reservation.durationMs - unchangedMs(reading, nowMs));
  return durationMs > 0 ? { ...reservation, durationMs } : undefined;
}

/** Returns whether the lease is free, so that the metadata can be written without a lease id. */
export function isFree({ leaseState }: BlobReading): boolean {
  return leaseState !== "leased" && leaseState !== "breaking";
}

/** Returns the rest of a hold. It is at least 1 ms while the service says that the lease is breaking. */
function holdLeftMs(reading: BlobReading, nowMs: number): number | undefined {
  const { holdMs } = reading.term;
  if (holdMs === undefined || reading.leaseState !== "breaking") return undefined;
  return Math.max(holdMs - unchangedMs(reading, nowMs), 1);
}

/** Returns the target of a transfer, until the transfer's time is up. */
function transferTarget(observed: ObservedBlob, nowMs: number): string | undefined {
  const order = orderOf(observed);
  if (!order?.transfer) return undefined;
  const { candidateId, timeoutMs } = order.transfer;
  const { leaseDurationMs = MAX_LEASE_MS, holdMs } = observed.term;
  if (order === observed.term.order) return unchangedMs(observed, nowMs) < timeoutMs ? candidateId : undefined;
  // The timeout counts from the first read of this process that showed the lease broken. A process that started later uses the
  // note's age: the lease was broken at most `endedWithinMs` after the note.
  const brokenForMs = nowMs - (observed.brokenSinceMs ?? nowMs);
  const endedWithinMs = holdMs === undefined ? leaseDurationMs : MAX_LEASE_MS;
  const overdue = observed.noteAgeMs !== undefined && observed.noteAgeMs > timeoutMs + endedWithinMs;
  return brokenForMs < timeoutMs && !overdue ? candidateId : undefined;
}

/**
 * Returns the least time since the blob was last written: by the service's clock until the read, and by this process's clock
 * after it.
 */
function unchangedMs(reading: BlobReading, nowMs: number): number {
  return reading.unchangedMs + nowMs - reading.seenMs;
}

/**
 * Returns the state of the term that the metadata names. It is only a report: no decision depends on it.
 *
 * A lease is acquired in one step, and its term is written in a second step. Between the two, and after a crash there, the
 * metadata still names the term before. Such a lease is never renewed. So a lease that every read has shown for longer than the
 * longest lease belongs to the named term. The exception is a lease that another candidate held between two reads. A younger
 * lease may belong to either term.
 *
 * A term that ends with a hold is marked before its lease begins to break. There is no leader then, and no candidate may acquire
 * yet. Even a process that has just started can tell this from an administrator's break.
 */
function stateOf({ leaseState, infinite, term, leasedSinceMs }: ObservedBlob, nowMs: number): LeaseState {
  const left = term.holdMs !== undefined;
  if (leaseState === "available" || (left && leaseState !== "leased")) return "vacant";
  if (leaseState === "expired" || leaseState === "broken") return "expired";
  if (leaseState === "breaking") return "ending";
  if (leasedSinceMs === undefined || infinite || left) return "unknown";
  return nowMs - leasedSinceMs > MAX_LEASE_MS ? "held" : "unknown";
}

import { DEFAULT_TRANSFER_TIMEOUT_MS, type LeaseSnapshot, type LeaseState } from "@leasehold/core";
import type { BlobProperties } from "./blob-requests.ts";
import type { BreakNote, TermMetadata } from "./schema.ts";

/** The longest lease that the service gives; an election's own may be shorter. */
export const MAX_LEASE_MS = 60_000;

/** What one look at an election's blob told. */
export interface Look extends BlobProperties {
  readonly term: TermMetadata;
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
  const { reason, transferTo, transferTimeoutMs = DEFAULT_TRANSFER_TIMEOUT_MS } = look.note ?? {};
  const state = ours && look.leaseState === "leased" ? "held" : stateOf(look, memory, nowMs);
  // Under a lease that is not this term's, the term's holder is not even a guess.
  const over = look.leaseState === "leased" && state === "unknown" && (look.infinite || memory?.leasedSinceMs === undefined);
  const shown = state !== "vacant" && !over;
  // From when this process saw the lease broken or, for one that saw nothing, from when it must have been: a lease that
  // breaks lasts no longer than it had to run.
  const brokenForMs = nowMs - (memory?.brokenSinceMs ?? nowMs);
  const overdue = (look.noteAgeMs ?? 0) > transferTimeoutMs + (leaseDurationMs ?? MAX_LEASE_MS);
  const reserved = transferTo !== undefined && brokenForMs < transferTimeoutMs && !overdue;
  return {
    election,
    state,
    term,
    ...(shown && candidateId !== undefined ? { holder: candidateId } : {}),
    ...(shown && value !== undefined ? { value } : {}),
    ...(leaseDurationMs === undefined ? {} : { leaseDurationMs }),
    ...(reserved ? { reservedFor: transferTo } : {}),
    ...(reason === undefined ? {} : { endingReason: reason }),
  };
}

/**
 * A lease is acquired in one step and its term written in a second. Between the two, and after a crash there, the
 * metadata still names the term before. Such a lease is never renewed, so one that every look has found for longer than
 * the longest lease belongs to the term that is named, unless it changed hands unseen between two of the looks; of a
 * younger one a reader cannot tell. It is a report; no decision rests on it.
 */
function stateOf({ leaseState, infinite }: Look, memory: Memory | undefined, nowMs: number): LeaseState {
  if (leaseState === "available") return "vacant";
  if (leaseState === "expired" || leaseState === "broken") return "expired";
  if (leaseState === "breaking") return "ending";
  const leasedForMs = memory?.leasedSinceMs === undefined || infinite ? 0 : nowMs - memory.leasedSinceMs;
  return leasedForMs > MAX_LEASE_MS ? "held" : "unknown";
}

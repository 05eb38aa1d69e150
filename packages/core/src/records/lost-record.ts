import { barOf, holdFor, withBars } from "./bars.ts";
import { RECORD_SCHEMA, type LeaseRecord } from "./record-store.ts";

/** The lease that is assumed of a record that this process has never seen. */
const UNKNOWN_LEASE_MS = 60_000;
/** The beginning of its nonce, which ends with the term. */
const NONCE = "lost after term ";

/**
 * Returns what stands for a record that is gone and whose term the fence remembers: vacated, and held for one lease. The former
 * holder may still believe in its own lease for as long.
 * @param known the record as this process saw it last.
 */
export function lostRecord(term: number, known: LeaseRecord | undefined): LeaseRecord {
  if (known && isLost(known) && known.term === term) return known;
  // The lease of another term tells nothing of the last one's.
  const leaseDurationMs = known?.term === term ? known.leaseDurationMs : Math.max(known?.leaseDurationMs ?? 0, UNKNOWN_LEASE_MS);
  const record = {
    schema: RECORD_SCHEMA,
    term,
    termId: null,
    candidateId: known?.candidateId ?? null,
    nonce: `${NONCE}${term}`,
    leaseDurationMs,
    renewIntervalMs: leaseDurationMs / 3,
  } as const;
  return withBars(record, [...holdFor(leaseDurationMs), known && barOf(known, "pause")]);
}

/** Reports whether this stands for a record that is gone. */
export function isLost({ nonce, termId }: LeaseRecord): boolean {
  return nonce.startsWith(NONCE) && termId === null;
}

/**
 * Returns the record to write in place of one that is gone, so that the store counts its hold, for processes without a memory too. The
 * hold is as long as the candidate's own lease at least: nothing tells how long the former one was.
 */
export function heldLostRecord(lost: LeaseRecord, leaseDurationMs: number): LeaseRecord {
  return withBars(lost, [...holdFor(Math.max(lost.leaseDurationMs, leaseDurationMs)), barOf(lost, "pause")]);
}

/** The lease that a repair holds the election for, where nothing tells the former one. */
export function leaseToWaitMs(known: LeaseRecord | undefined): number {
  return known?.leaseDurationMs ?? UNKNOWN_LEASE_MS;
}

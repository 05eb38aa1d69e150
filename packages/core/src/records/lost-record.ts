import type { LeaseRecord } from "./record-store.ts";

/** The lease that is assumed of a record that this process has never seen. */
const UNKNOWN_LEASE_MS = 60_000;
const NONCE = "leasehold: the record is lost";

/**
 * Returns what stands for a record that is gone and whose term the fence remembers: vacated, and held for one lease. The former
 * holder may still believe in its own lease for as long.
 * @param known the record as this process saw it last.
 */
export function lostRecord(term: number, known: LeaseRecord | undefined): LeaseRecord {
  if (known && isLost(known) && known.term === term) return known;
  const leaseDurationMs = known?.leaseDurationMs ?? UNKNOWN_LEASE_MS;
  return {
    schema: 1,
    term,
    termId: null,
    candidateId: known?.candidateId ?? null,
    nonce: NONCE,
    leaseDurationMs,
    renewIntervalMs: known?.renewIntervalMs ?? leaseDurationMs / 3,
    holdMs: leaseDurationMs,
  };
}

/** Reports whether this stands for a record that is gone. */
export function isLost({ nonce, termId }: LeaseRecord): boolean {
  return nonce === NONCE && termId === null;
}

/** The lease that a repair holds the election for, where nothing tells the former one. */
export function leaseToWaitMs(known: LeaseRecord | undefined): number {
  return known?.leaseDurationMs ?? UNKNOWN_LEASE_MS;
}

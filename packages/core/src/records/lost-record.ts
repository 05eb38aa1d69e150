import { barOf, holdFor, withBars } from "./bars.ts";
import { vacantRecord, type LeaseRecord } from "./record-store.ts";

/** The lease duration that is assumed for a record that this process has never observed, in milliseconds. */
const UNKNOWN_LEASE_MS = 60_000;
/** The beginning of the nonce of a lost record. The term follows it. */
const NONCE = "lost after term ";

/** Returns a substitute for a lost record whose term the fence remembers. Its hold covers the former holder's lease. */
export function lostRecord(term: number, known: LeaseRecord | undefined): LeaseRecord {
  if (known && isLost(known) && known.term === term) return known;
  // Another term's lease duration does not show that of the last term.
  const leaseDurationMs = known?.term === term ? known.leaseDurationMs : Math.max(known?.leaseDurationMs ?? 0, UNKNOWN_LEASE_MS);
  const candidateId = known?.candidateId ?? null;
  const record = vacantRecord({ term, candidateId, nonce: `${NONCE}${term}`, leaseDurationMs });
  return withBars(record, [...holdFor(leaseDurationMs), known && barOf(known, "pause")]);
}

export function isLost({ nonce, termId }: LeaseRecord): boolean {
  return nonce.startsWith(NONCE) && termId === null;
}

/** Returns the record to write in place of a lost one. Its hold lasts for the longer one of the former and the new lease. */
export function heldLostRecord(lost: LeaseRecord, leaseDurationMs: number): LeaseRecord {
  return withBars(lost, [...holdFor(Math.max(lost.leaseDurationMs, leaseDurationMs)), barOf(lost, "pause")]);
}

/** Returns the longest lease that a former holder may have, as far as this process knows. A repair holds the election for it. */
export function leaseToWaitMs(known: LeaseRecord | undefined): number {
  return known?.leaseDurationMs ?? UNKNOWN_LEASE_MS;
}

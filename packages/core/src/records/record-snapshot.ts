import { barOf } from "../store/bar.ts";
import type { LeaseSnapshot, LeaseState } from "../store/lease-snapshot.ts";
import type { Expiry } from "../store/lease-store.ts";
import type { LeaseRecord } from "./record-store.ts";
import type { Sighting } from "./sighting.ts";

/** The facts that a snapshot depends on beside the record. */
export interface SnapshotView {
  readonly expiry: Expiry | undefined;
  /** The rest of the hold of a term of which this process alone knows that nobody leads on it. */
  readonly abandonedHoldMs?: number | undefined;
}

/** Returns the election as a sighting shows it. */
export function snapshotOf(election: string, sighting: Sighting, { expiry, abandonedHoldMs }: SnapshotView): LeaseSnapshot {
  const { record } = sighting;
  const { transfer, reservation, done, holdMs = 0 } = record;
  const ageMs = sighting.ageMs(expiry);
  const isAbandoned = abandonedHoldMs !== undefined;
  const vacant = record.termId === null || isAbandoned;
  const state = vacant ? "vacant" : leaseState(record, ageMs);
  // A vacated record's nonce is as old as the release, and then there may be a hold; any other's is as old as the last
  // renewal, and nobody else knows of a term that was abandoned here.
  const freeForMs = ageMs[0] - (record.termId === null ? holdMs : record.leaseDurationMs);
  const isReserved = reservation !== undefined && ageMs[0] < reservation.durationMs;
  const bar = barOf({
    state,
    done,
    holdMs: isAbandoned && !record.broken ? abandonedHoldMs : holdMs - ageMs[0],
    transferTo: transfer && freeForMs < transfer.timeoutMs ? transfer.candidateId : undefined,
    group: isReserved ? reservation.group : undefined,
  });
  const isUndated =
    sighting.isMissing || (sighting.countsStoreClock(expiry) && !isAbandoned && bar && bar.kind !== "done" && sighting.isUndated);
  return {
    election,
    state,
    term: record.term,
    ...(vacant || record.candidateId === null ? {} : { holder: record.candidateId }),
    ...(vacant || record.value === undefined ? {} : { value: record.value }),
    ageMs,
    leaseDurationMs: record.leaseDurationMs,
    ...(isUndated ? { undated: true as const } : {}),
    ...(bar ? { bar } : {}),
    ...(record.broken ? { endingReason: record.broken.reason } : {}),
  };
}

function leaseState(record: LeaseRecord, [min, max]: readonly [number, number]): LeaseState {
  if (min >= record.leaseDurationMs) return "expired";
  if (max >= record.leaseDurationMs) return "unknown";
  return record.broken || record.transfer ? "ending" : "held";
}

import type { DeliveryLog } from "./witness.ts";

/** The difference that the clocks of a store and of this host may have over such a time. Each is read in whole milliseconds. */
export const READING_MS = 2;

/** Returns acquisitions that came before the minimum hold of the former one was over. */
export function checkHolds(deliveries: readonly DeliveryLog[], minimumHoldMs: number): string[] {
  const acquisitions = deliveries
    .flatMap(({ id, acquired }) => (acquired ? [{ id, ...acquired }] : []))
    .toSorted((one, other) => one.term - other.term);
  return acquisitions.flatMap((one, at) => {
    const before = acquisitions[at - 1];
    if (!before) return [];
    // The store counts from the earlier request at the earliest, and admits this acquisition before its process learns of it.
    const afterMs = one.atMs - before.grantedMs;
    if (afterMs >= minimumHoldMs - READING_MS) return [];
    return [`${one.id} acquired ${afterMs.toFixed(1)} ms after ${before.id}, which holds for ${minimumHoldMs} ms`];
  });
}

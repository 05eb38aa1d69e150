import type { DeliveryLog } from "./witness.ts";

/** What the clocks of a store and of this host may disagree by over such a time: each is read in whole milliseconds. */
export const READING_MS = 2;

/** Acquisitions that came before the minimum hold of the one before them was over. */
export function checkHolds(deliveries: readonly DeliveryLog[], minimumHoldMs: number): string[] {
  const acquisitions = deliveries
    .flatMap(({ id, acquired }) => (acquired ? [{ id, ...acquired }] : []))
    .toSorted((one, other) => one.term - other.term);
  return acquisitions.flatMap((one, at) => {
    const before = acquisitions[at - 1];
    if (!before) return [];
    // The store has counted from the earlier one's request at the earliest, and has let this one in before it heard of it.
    const afterMs = one.atMs - before.grantedMs;
    if (afterMs >= minimumHoldMs - READING_MS) return [];
    return [`${one.id} acquired ${afterMs.toFixed(1)} ms after ${before.id}, which holds for ${minimumHoldMs} ms`];
  });
}

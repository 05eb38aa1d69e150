import { READING_MS } from "./check-holds.ts";
import type { DeliveryLog } from "./witness.ts";

/** One group's leadership after another's. */
export interface GroupChange {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly id: string;
  /** From the last acquisition of the group before, which was sent then, to the first of this one. */
  readonly afterMs: number;
}

/** Every change of the group that leads, by the terms. */
export function groupChanges(deliveries: readonly DeliveryLog[]): readonly GroupChange[] {
  const acquisitions = deliveries
    .flatMap(({ id, group, acquired }) => (acquired ? [{ id, group, ...acquired }] : []))
    .toSorted((one, other) => one.term - other.term);
  return acquisitions.flatMap((one, at) => {
    const before = acquisitions[at - 1];
    if (!before || before.group === one.group) return [];
    // What was acquired by those who have died before they knew is later still.
    return [{ from: before.group, to: one.group, id: one.id, afterMs: one.atMs - before.grantedMs }];
  });
}

/**
 * Changes of the group that came too early. Time alone decides, and not how many ticks came in it: on a busy machine ticks
 * come late, several at once.
 */
export function checkGroups(deliveries: readonly DeliveryLog[], reservationMs: number): string[] {
  return groupChanges(deliveries).flatMap(({ from, to, id, afterMs }) => {
    if (afterMs >= reservationMs - READING_MS) return [];
    return [`${id} took over for ${to} ${afterMs.toFixed(0)} ms after ${from} had led, which had ${reservationMs} ms`];
  });
}

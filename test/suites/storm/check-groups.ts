import { READING_MS } from "./check-holds.ts";
import type { DeliveryLog } from "./witness.ts";

/** The leadership of one group after another's. */
export interface GroupChange {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly id: string;
  /** The time from the last acquisition of the former group, when it was sent, to the first of this one. */
  readonly afterMs: number;
}

/** Returns every change of the leading group, by the terms. */
export function groupChanges(deliveries: readonly DeliveryLog[]): readonly GroupChange[] {
  const acquisitions = deliveries
    .flatMap(({ id, group, acquired }) => (acquired ? [{ id, group, ...acquired }] : []))
    .toSorted((one, other) => one.term - other.term);
  return acquisitions.flatMap((one, at) => {
    const before = acquisitions[at - 1];
    if (!before || before.group === one.group) return [];
    // A process that died may have acquired without knowing it, and then even later.
    return [{ from: before.group, to: one.group, id: one.id, afterMs: one.atMs - before.grantedMs }];
  });
}

/**
 * Returns changes of the group that came too early. Only time decides, and not the number of ticks in it. On a busy machine ticks
 * come late, several at once.
 */
export function checkGroups(deliveries: readonly DeliveryLog[], reservationMs: number): string[] {
  return groupChanges(deliveries).flatMap(({ from, to, id, afterMs }) => {
    if (afterMs >= reservationMs - READING_MS) return [];
    return [`${id} took over for ${to} ${afterMs.toFixed(0)} ms after ${from} had led, which had ${reservationMs} ms`];
  });
}

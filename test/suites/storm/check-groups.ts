import { READING_MS } from "./check-holds.ts";
import type { DeliveryLog } from "./witness.ts";

export interface GroupsLog {
  readonly deliveries: readonly DeliveryLog[];
  /** When each tick was due, by the host's clock. */
  readonly ticksMs: readonly number[];
  readonly periodMs: number;
  readonly missedTicks: number;
}

/** One group's leadership after another's. */
export interface GroupChange {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly id: string;
  /** From the last acquisition of the group before, which was sent then, to the first of this one. */
  readonly afterMs: number;
  /** How many ticks the group before has missed by then; one that may only be late is none. */
  readonly missed: number;
}

/** Every change of the group that leads, by the terms. */
export function groupChanges({ deliveries, ticksMs, periodMs }: GroupsLog): readonly GroupChange[] {
  const acquisitions = deliveries
    .flatMap(({ id, group, acquired }) => (acquired ? [{ id, group, ...acquired }] : []))
    .toSorted((one, other) => one.term - other.term);
  return acquisitions.flatMap((one, at) => {
    const before = acquisitions[at - 1];
    if (!before || before.group === one.group) return [];
    // What was acquired by those who have died before they knew is later still.
    const missed = ticksMs.filter((dueMs) => dueMs > before.grantedMs && dueMs < one.atMs - periodMs / 2).length;
    return [{ from: before.group, to: one.group, id: one.id, afterMs: one.atMs - before.grantedMs, missed }];
  });
}

/** Changes of the group that came too early: `missedTicks` must have been missed, and half a period more have passed. */
export function checkGroups(log: GroupsLog): string[] {
  const { missedTicks, periodMs } = log;
  const leastMs = (missedTicks + 0.5) * periodMs;
  return groupChanges(log).flatMap(({ from, to, id, afterMs, missed }) => {
    if (missed >= missedTicks && afterMs >= leastMs - READING_MS) return [];
    return [
      `${id} took over for ${to} ${afterMs.toFixed(0)} ms after ${from} had led, which has missed ${missed} ticks (${leastMs} ms, ${missedTicks} ticks)`,
    ];
  });
}

import type { SeededRandom } from "@leasehold/core/testing";
import type { Delivery } from "./delivery.ts";
import type { PlannedDeath } from "./fleet.ts";

/** A planned delivery, `atMs` after the beginning of the storm. */
export interface PlannedDelivery extends Omit<Delivery, "id" | "scheduledMs" | "diesOnce"> {
  readonly tick: number;
  readonly place: number;
  readonly atMs: number;
  readonly death?: PlannedDeath | undefined;
}

/** The properties of a storm's deliveries. */
export interface NetworkFaults {
  /** The longest work of a handler, unless it works longer than its lease. */
  readonly workMs: number;
  readonly leaseDurationMs: number;
  /** The share of handlers that work longer than their lease, and so have to renew it. */
  readonly long: number;
  /** The share of handlers that throw. */
  readonly failing: number;
}

const MOMENTS: ReadonlyArray<PlannedDeath["at"]> = ["claim", "acquired", "handler", "handler", "return", "released"];
/** The longest wait until a death that does not depend on a moment of the handler. */
const DEATH_WAIT_MS = 60;
/** The longest time from the end of a handler to a death that should hit its last request. */
const RETURN_WAIT_MS = 10;

/** The number of deliveries of a tick that probably include the leader. */
const LIKELY = 2;

export function workOf(
  dice: SeededRandom,
  { workMs, leaseDurationMs, long, failing }: NetworkFaults,
): Pick<Delivery, "workMs" | "pieces" | "fails"> {
  const fails = dice.chance(failing);
  // The work has pieces of a quarter of the lease. A third of the lease has passed at every second piece.
  if (dice.chance(long)) return { workMs: leaseDurationMs * dice.between(1.1, 1.5), pieces: 6, fails };
  return { workMs: dice.between(5, workMs), pieces: 2, fails };
}

export function deathOf(dice: SeededRandom): PlannedDeath {
  const at = dice.pick(MOMENTS);
  return { at, afterMs: dice.between(0, at === "return" ? RETURN_WAIT_MS : DEATH_WAIT_MS), workDone: dice.next() };
}

/** Returns the items in another order. Every order has the same probability. */
export function shuffled<T>(dice: SeededRandom, items: readonly T[]): T[] {
  const left = [...items];
  return items.map(() => left.splice(Math.floor(dice.next() * left.length), 1)[0] as T);
}

/** Gives a third of the deliveries a death. Half of the deaths go to those that probably lead, if there are enough. */
export function withDeaths(dice: SeededRandom, deliveries: readonly PlannedDelivery[]): PlannedDelivery[] {
  const half = deliveries.length / 6;
  const inOrder = deliveries.toSorted((one, other) => one.atMs - other.atMs);
  const first = [...Map.groupBy(inOrder, ({ tick }) => tick).values()].flatMap((ofTick) => ofTick.slice(0, LIKELY));
  const others = deliveries.filter((delivery) => !first.includes(delivery));
  const doomed = new Set([
    ...shuffled(dice, first).slice(0, Math.floor(half)),
    ...shuffled(dice, others).slice(0, Math.ceil(half)),
  ]);
  return deliveries.map((delivery) => (doomed.has(delivery) ? { ...delivery, death: deathOf(dice) } : delivery));
}

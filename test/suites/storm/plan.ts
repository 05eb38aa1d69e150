import type { SeededRandom } from "@leasehold/core/testing";
import type { Delivery } from "./delivery.ts";
import type { PlannedDeath } from "./fleet.ts";

/** A delivery that is to be made, so long after the storm began. */
export interface PlannedDelivery extends Omit<Delivery, "id" | "scheduledMs" | "diesOnce"> {
  readonly tick: number;
  readonly place: number;
  readonly atMs: number;
  readonly death?: PlannedDeath | undefined;
}

/** What deliveries of a storm are like. */
export interface Weather {
  /** How long a handler works, at most, where it does not work longer than its lease. */
  readonly workMs: number;
  readonly leaseDurationMs: number;
  /** How often a handler works for longer than its lease, and so has to renew it. */
  readonly long: number;
  /** How often a handler throws. */
  readonly failing: number;
}

const MOMENTS: ReadonlyArray<PlannedDeath["at"]> = ["claim", "acquired", "handler", "handler", "return", "released"];
/** The longest wait until a death that no moment of the handler decides. */
const DEATH_WAIT_MS = 60;
/** The longest from the end of a handler to a death that is to meet its last request. */
const RETURN_WAIT_MS = 10;

/** Of the deliveries of a tick, so many may be the one that leads. */
const LIKELY = 2;

export function workOf(
  dice: SeededRandom,
  { workMs, leaseDurationMs, long, failing }: Weather,
): Pick<Delivery, "workMs" | "pieces" | "fails"> {
  const fails = dice.chance(failing);
  // Pieces of a quarter of the lease: a third of it has passed at every second one.
  if (dice.chance(long)) return { workMs: leaseDurationMs * dice.between(1.1, 1.5), pieces: 6, fails };
  return { workMs: dice.between(5, workMs), pieces: 2, fails };
}

export function deathOf(dice: SeededRandom): PlannedDeath {
  const at = dice.pick(MOMENTS);
  return { at, afterMs: dice.between(0, at === "return" ? RETURN_WAIT_MS : DEATH_WAIT_MS), workDone: dice.next() };
}

/** The same in another order, each order as likely as the others. */
export function shuffled<T>(dice: SeededRandom, items: readonly T[]): T[] {
  const left = [...items];
  return items.map(() => left.splice(Math.floor(dice.next() * left.length), 1)[0] as T);
}

/** Gives a third of the deliveries a death: one half of these to those that are likely to lead, if there are so many. */
export function withDeaths(dice: SeededRandom, deliveries: readonly PlannedDelivery[]): PlannedDelivery[] {
  const half = deliveries.length / 6;
  const inOrder = deliveries.toSorted((one, other) => one.atMs - other.atMs);
  const first = [...Map.groupBy(inOrder, ({ tick, election }) => `${tick} ${election}`).values()].flatMap((ofTick) =>
    ofTick.slice(0, LIKELY),
  );
  const others = deliveries.filter((delivery) => !first.includes(delivery));
  const doomed = new Set([
    ...shuffled(dice, first).slice(0, Math.floor(half)),
    ...shuffled(dice, others).slice(0, Math.ceil(half)),
  ]);
  return deliveries.map((delivery) => (doomed.has(delivery) ? { ...delivery, death: deathOf(dice) } : delivery));
}

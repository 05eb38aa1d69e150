import type { SeededRandom } from "@leasehold/core/testing";
import { HOUR_MS } from "./faults/fault.ts";
import { FASTEST_RATE, SLOWEST_RATE } from "./stores/simulated-store.ts";
import { clockMayStep, type StoreKind } from "./stores/stores.ts";

/**
 * The clocks of a run that may show anything. No single wrong clock, however wrong, makes two leaders.
 * - `walls`: those of the candidates. The store's clock is right, and so are the ages that it tells.
 * - `one wall`: that of one candidate.
 * - `store`: the store's own clock steps, and is replaced by another server's.
 * - `all`: then no candidate uses the store's clock.
 */
export type WrongClocks = "walls" | "one wall" | "store" | "all";

/** The clocks of one process. */
export interface PlannedClock {
  readonly rate: number;
  readonly wallRate: number;
  readonly wallOffsetMs: number;
}

/** The error of right clocks: less than that of a service that keeps the time promises. */
const RIGHT_MS = 10;
const RIGHT_RATE = 0.000_1;

export function drawWrongClocks(random: SeededRandom, store: StoreKind): WrongClocks {
  if (!clockMayStep(store)) return "walls";
  return random.pick(["walls", "one wall", "store", "store", "all"]);
}

/** @param index the candidate's index. If only one clock is wrong, it is the first candidate's. */
export function drawClock(random: SeededRandom, wrong: WrongClocks, index: number): PlannedClock {
  const isRight = wrong === "store" || (wrong === "one wall" && index > 0);
  return {
    rate: drawRate(random),
    wallRate: isRight ? drawRightRate(random) : drawRate(random),
    wallOffsetMs: isRight ? random.between(-RIGHT_MS, RIGHT_MS) : random.between(-HOUR_MS, HOUR_MS),
  };
}

/** Draws the rate of the store's own clock, for stores where it does not step. */
export function drawStoreRate(random: SeededRandom, wrong: WrongClocks): number {
  return wrong === "store" || wrong === "one wall" ? drawRightRate(random) : drawRate(random);
}

function drawRightRate(random: SeededRandom): number {
  return random.between(1 - RIGHT_RATE, 1 + RIGHT_RATE);
}

/** Draws any rate within the stated drift, and often the worst. */
function drawRate(random: SeededRandom): number {
  const worst = random.pick([SLOWEST_RATE, FASTEST_RATE]);
  return random.pick([worst, worst, 1, random.between(SLOWEST_RATE, FASTEST_RATE)]);
}

import { SeededRandom } from "@leasehold/core/testing";
import { drawCandidate, drawRate, type CandidatePlan } from "./candidate-plan.ts";
import { drawMishap, type Mishap } from "./mishaps/mishaps.ts";
import { STORE_KINDS, type StoreKind } from "./stores/stores.ts";
import { drawWeather, type Weather } from "./weather.ts";

/** Everything that is decided before a run begins. What happens in it follows from this alone. */
export interface Plan {
  readonly seed: number;
  readonly store: StoreKind;
  /** How fast the service's own clock runs. */
  readonly serviceRate: number;
  readonly timing: PlannedTiming;
  readonly candidates: readonly CandidatePlan[];
  /** The first two candidates bear the same id: a label, and no proof of anything. */
  readonly twins: boolean;
  readonly weather: Weather;
  readonly mishaps: readonly Mishap[];
  /** When the last mishap is over, all tasks do as they are told, and the network is good again. */
  readonly calmAtMs: number;
  /**
   * Whether every leadership is asked for its validity after every step. Asking makes a term that is over end at once; a
   * run in which nobody asks shows whether it also does so by itself.
   */
  readonly asks: boolean;
}

export interface PlannedTiming {
  /** The lease of most candidates, and the measure of all other times. */
  readonly leaseDurationMs: number;
  readonly retryPeriodMs: number;
  readonly drainTimeoutMs: number;
  readonly stallTimeoutMs: number | undefined;
  readonly cooldownMs: number | undefined;
}

/** How many runs in two hundred are on each store: those of the real SDKs take ten times as long as the others. */
const SHARES: Readonly<Record<StoreKind, number>> = {
  records: 80,
  "records with a push": 57,
  "records with a clock": 57,
  blob: 5,
  dynamodb: 1,
};

/** Draws a plan. The same seed gives the same plan. */
export function drawPlan(seed: number, kinds: readonly StoreKind[] = STORE_KINDS): Plan {
  // Neighbouring seeds give unlike plans.
  const random = new SeededRandom(Math.imul(seed, 0x9e3779b1) ^ (seed >>> 15));
  const store = random.pick(kinds.flatMap((kind) => Array<StoreKind>(SHARES[kind]).fill(kind)) as [StoreKind, ...StoreKind[]]);
  const leaseMs = store === "blob" ? random.pick([15_000, 15_000, 20_000]) : random.pick([15_000, 15_000, 6_000, 30_000]);
  const timing: PlannedTiming = {
    leaseDurationMs: leaseMs,
    retryPeriodMs: leaseMs * random.pick([0.15, 0.15, 0.3, 0.4]),
    drainTimeoutMs: leaseMs * random.pick([1, 1, 0.3, 3]),
    stallTimeoutMs: random.chance(0.2) ? leaseMs * random.pick([0.5, 1]) : undefined,
    cooldownMs: random.chance(0.3) ? leaseMs * random.pick([0, 0.1, 1]) : undefined,
  };
  const count = random.pick([2, 2, 3, 3, 4]);
  const candidates = Array.from({ length: count }, () => drawCandidate(random, store, leaseMs));
  const calmAtMs = leaseMs * random.pick([2, 3, 3, 4, 6]);
  const mishapCount = random.pick([1, 2, 3, 4, 6, 9]);
  const cold = candidates.some(({ expiry }) => expiry === "store-clock") || store === "records with a push";
  const drawn = Array.from({ length: mishapCount }, () => drawMishap(random, { store, leaseMs, count, calmAtMs }));
  const mishaps = drawn.filter((mishap) => isFair(mishap, drawn, cold)).toSorted((one, other) => one.atMs - other.atMs);
  return {
    seed,
    store,
    serviceRate: drawRate(random),
    timing,
    candidates,
    twins: random.chance(0.2),
    weather: drawWeather(random),
    mishaps,
    calmAtMs,
    asks: random.chance(0.7),
  };
}

/**
 * Whether a mishap is within what users are promised. A store's own clock is trusted not to step forward by whoever is
 * told ages by it: whoever starts only after a step cannot notice it. Where one does, nobody relies on that clock.
 */
function isFair(mishap: Mishap, all: readonly Mishap[], reliesOnClock: boolean): boolean {
  const relied = reliesOnClock || all.some(({ kind }) => kind === "cold-call" || kind === "tick");
  return mishap.kind !== "store-clock-step" || mishap.byMs < 0 || !relied;
}

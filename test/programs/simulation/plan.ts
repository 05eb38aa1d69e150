import { SeededRandom } from "@leasehold/core/testing";
import { drawCandidates, SHORTEST_LEASE_MS, type CandidatePlan } from "./candidate-plan.ts";
import { drawControlPlane, type ControlPlane } from "./control-plane.ts";
import { drawMishaps, type Mishap } from "./faults/faults.ts";
import { drawReplacement } from "./mishaps/replacement.ts";
import { isQuorum, STORE_KINDS, type StoreKind } from "./stores/stores.ts";
import { drawCustoms } from "./turns.ts";
import { drawNetworkFaults, type NetworkFaults } from "./network-faults.ts";
import { drawStoreRate, drawWrongClocks, type WrongClocks } from "./wrong-clocks.ts";

/** Everything that is decided before a run begins. The whole run follows from it. */
export interface Plan {
  readonly seed: number;
  readonly store: StoreKind;
  readonly wrongClocks: WrongClocks;
  /** The rate of the service's own clock. */
  readonly serviceRate: number;
  readonly controlPlane: ControlPlane;
  readonly timing: PlannedTiming;
  readonly candidates: readonly CandidatePlan[];
  /** True if the first two candidates have the same id. It is a label and proves nothing. */
  readonly twins: boolean;
  readonly networkFaults: NetworkFaults;
  readonly mishaps: readonly Mishap[];
  /** The time at which the last fault is over, all tasks obey, and the network is good again. */
  readonly calmAtMs: number;
  /**
   * True if every leadership is asked for its validity after every step. Such a question ends an expired term at once. A run
   * without questions shows whether the term also ends by itself.
   */
  readonly asks: boolean;
}

export interface PlannedTiming {
  /** The lease of most candidates, and the unit of all other times. */
  readonly leaseDurationMs: number;
  readonly retryPeriodMs: number;
  readonly drainTimeoutMs: number;
  readonly stallTimeoutMs: number | undefined;
  readonly cooldownMs: number | undefined;
}

/** The number of runs on each store, of two hundred and forty. Those with the real SDKs take ten times as long as the others. */
const SHARES: Readonly<Record<StoreKind, number>> = {
  records: 80,
  "records with a push": 57,
  "records with a clock": 57,
  redis: 10,
  objects: 5,
  kubernetes: 10,
  blob: 5,
  dynamodb: 1,
  etcd: 5,
  voting: 10,
  quorum: 10,
  "quorum with clocks": 5,
};

/** Draws a plan. The same seed gives the same plan. */
export function drawPlan(seed: number, kinds: readonly StoreKind[] = STORE_KINDS): Plan {
  const random = randomOf(seed);
  const store = drawStore(random, kinds);
  const leaseMs = drawLeaseMs(random, store);
  const timing: PlannedTiming = {
    leaseDurationMs: leaseMs,
    retryPeriodMs: leaseMs * random.pick([0.15, 0.15, 0.3, 0.4]),
    drainTimeoutMs: leaseMs * random.pick([1, 1, 0.3, 3]),
    stallTimeoutMs: random.chance(0.2) ? leaseMs * random.pick([0.5, 1]) : undefined,
    cooldownMs: random.chance(0.3) ? leaseMs * random.pick([0, 0.1, 1]) : undefined,
  };
  const wrongClocks = drawWrongClocks(random, store);
  const customs = drawCustoms(random, store, leaseMs);
  const candidates = drawCandidates(random, { store, leaseMs, wrongClocks, customs });
  const calmAtMs = leaseMs * random.pick([2, 3, 3, 4, 6]);
  const scope = { store, leaseMs, count: candidates.length, calmAtMs, wrongClocks };
  const plan: Plan = {
    seed,
    store,
    wrongClocks,
    controlPlane: drawControlPlane(random, store),
    serviceRate: drawStoreRate(random, wrongClocks),
    timing,
    candidates,
    twins: random.chance(0.2),
    networkFaults: drawNetworkFaults(random),
    mishaps: drawMishaps(random, scope),
    calmAtMs,
    asks: random.chance(0.7),
  };
  return { ...plan, mishaps: [...plan.mishaps, ...drawReplacement(random, scope)] };
}

/** Returns the store of the plan that this seed gives. */
export function storeOf(seed: number, kinds?: readonly StoreKind[]): StoreKind {
  return drawStore(randomOf(seed), kinds);
}

/** Gives different plans to neighbouring seeds. */
function randomOf(seed: number): SeededRandom {
  return new SeededRandom(Math.imul(seed, 0x9e3779b1) ^ (seed >>> 15));
}

/** Draws each kind as often as its share. */
function drawStore(random: SeededRandom, kinds: readonly StoreKind[] = STORE_KINDS): StoreKind {
  let left = Math.floor(random.next() * kinds.reduce((sum, kind) => sum + SHARES[kind], 0));
  return kinds.find((kind) => (left -= SHARES[kind]) < 0)!;
}

function drawLeaseMs(random: SeededRandom, store: StoreKind): number {
  if (store === "blob") return random.pick([15_000, 15_000, 20_000]);
  // Each member has a quarter of an attempt. GCS takes a write a second of each object.
  if (isQuorum(store) || store === "objects") return random.pick([15_000, 15_000, 6_000, 30_000]);
  return random.pick([15_000, 15_000, 15_000, 6_000, 30_000, store === "etcd" ? 2_000 : SHORTEST_LEASE_MS]);
}

import type { SeededRandom } from "@leasehold/core/testing";
import { drawExtremeOptions, type ExtremeOptions } from "./extreme-options.ts";
import { clockMayStep, type StoreKind } from "./stores/stores.ts";
import { drawTurns, type Customs, type Turns } from "./turns.ts";
import { drawClock, type PlannedClock, type WrongClocks } from "./wrong-clocks.ts";

export interface CandidatePlan extends PlannedClock, Turns {
  /** Its own lease. A rolling deploy may change it, and then each candidate waits for the record's lease. */
  readonly leaseDurationMs: number;
  /** The way in which it leads: by `run`, or by `campaign`, with a leadership held by hand. */
  readonly way: "run" | "campaign";
  /**
   * True for a machine that can be suspended. Such a machine is never set back in time, because it could not tell how long it
   * slept.
   */
  readonly sleeps: boolean;
  /** The elector's option. With `store-clock` it may use the store's own clock to tell that a lease has expired. */
  readonly expiry: "store-clock" | "observed" | undefined;
  readonly releaseOnStop: boolean;
  /** Its options besides those that all have. */
  readonly options: ExtremeOptions;
  /** The candidate in whose process it lives, on the same store object. Undefined for a process of its own. */
  readonly livesWith: number | undefined;
  /** Another election, in which its process has the only elector. */
  readonly lodges: string | undefined;
  /** True if its process has an observer too. */
  readonly observes: boolean;
}

/**
 * The shortest lease that a store takes whose clock may step. It is also about the shortest that the simulated network allows.
 */
export const SHORTEST_LEASE_MS = 1_000;

/** The settings that all candidates of a run have in common. */
export interface Field {
  readonly store: StoreKind;
  readonly leaseMs: number;
  readonly wrongClocks: WrongClocks;
  readonly customs: Customs;
}

/** Draws the candidates of a run, and which of them share a process. */
export function drawCandidates(random: SeededRandom, field: Field): CandidatePlan[] {
  const count = random.pick([2, 2, 3, 3, 4]);
  const candidates: CandidatePlan[] = [];
  for (let index = 0; index < count; index += 1) {
    const candidate = drawCandidate(random, field, index);
    const home = index > 0 && random.chance(0.12) ? Math.floor(random.next() * index) : undefined;
    candidates.push(home === undefined ? candidate : movedIn(candidate, candidates, home));
  }
  return candidates;
}

/** Moves a candidate into another one's process, which has one pair of clocks. */
function movedIn(candidate: CandidatePlan, candidates: readonly CandidatePlan[], home: number): CandidatePlan {
  const livesWith = candidates[home]?.livesWith ?? home;
  const { rate, wallRate, wallOffsetMs, sleeps } = candidates[livesWith] ?? candidate;
  return { ...candidate, rate, wallRate, wallOffsetMs, sleeps, livesWith, lodges: undefined, observes: false };
}

function drawCandidate(random: SeededRandom, { store, leaseMs, wrongClocks, customs }: Field, index: number): CandidatePlan {
  const others = store === "blob" || store === "etcd" || store === "objects" || leaseMs === SHORTEST_LEASE_MS ? [2] : [0.5, 2];
  const leaseDurationMs = leaseMs * (random.chance(0.8) ? 1 : random.pick(others as [number, ...number[]]));
  const mayRely = clockMayStep(store) && wrongClocks !== "all";
  return {
    ...drawTurns(random, customs, leaseDurationMs),
    leaseDurationMs,
    way: random.chance(0.8) ? "run" : "campaign",
    ...drawClock(random, wrongClocks, index),
    sleeps: random.chance(0.5),
    expiry: mayRely && random.chance(0.4) ? "store-clock" : undefined,
    releaseOnStop: !random.chance(0.1),
    options: drawExtremeOptions(random, store, leaseDurationMs),
    livesWith: undefined,
    lodges: random.chance(0.06) ? `lodger-${index}` : undefined,
    observes: random.chance(0.06),
  };
}

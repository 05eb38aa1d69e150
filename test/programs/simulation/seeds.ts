import { drawPlan, storeOf } from "./plan.ts";
import { simulate } from "./simulation.ts";
import type { StoreKind } from "./stores/stores.ts";
import { countRun, emptyTally, type Tally } from "./tally.ts";

/** Consecutive seeds, one run for each. */
export interface Seeds {
  readonly first: number;
  readonly count: number;
  /** The kinds of stores to draw from; all of them by default. */
  readonly stores?: readonly StoreKind[] | undefined;
  /** Those seeds alone that draw this kind. */
  readonly only?: StoreKind | undefined;
}

/** Runs them one after another. */
export async function runSeeds({ first, count, stores, only }: Seeds): Promise<Tally> {
  const tally = emptyTally();
  for (let seed = first; seed < first + count; seed += 1) {
    if (only !== undefined && storeOf(seed, stores) !== only) continue;
    countRun(tally, await simulate(drawPlan(seed, stores)));
  }
  return tally;
}

/** Runs them until one breaks an invariant; tells how many runs it took, if one did. */
export async function huntViolation({ first, count, stores }: Seeds): Promise<Hunted> {
  for (let runs = 1; runs <= count; runs += 1) {
    const { violation } = await simulate(drawPlan(first + runs - 1, stores));
    if (violation) return { runs, seed: first + runs - 1, invariant: violation.invariant };
  }
  return { runs: count };
}

export interface Hunted {
  readonly runs: number;
  readonly seed?: number | undefined;
  readonly invariant?: string | undefined;
}

import { playQuorum } from "../../../packages/quorum/test/random-quorum.ts";
import { playFailover } from "../../../packages/voting/test/random-failovers.ts";
import { playVoters } from "../../../packages/voting/test/random-voters.ts";
import { drawPlan, storeOf } from "./plan.ts";
import { simulate } from "./simulation.ts";
import type { StoreKind } from "./stores/stores.ts";
import { countRun, emptyTally, type CountedRun, type Tally } from "./tally.ts";

/** Consecutive seeds, one run for each. */
export interface Seeds {
  readonly first: number;
  readonly count: number;
  /** The kinds of stores to draw from. All of them by default. */
  readonly stores?: readonly StoreKind[] | undefined;
  /** Only those seeds that draw this kind. */
  readonly only?: StoreKind | undefined;
  /** If set, there are no electors. Random orders go only to this part. */
  readonly alone?: Alone | undefined;
}

/** The parts that can be run alone: voting servers, their failovers in time, or the leases of a quorum. */
export type Alone = keyof typeof PLAYED_ALONE;

/** The run of each part, in a world of its own. */
export const PLAYED_ALONE = { voters: playVoters, failovers: playFailover, quorums: playQuorum } as const;

/** Runs the seeds one after another. */
export async function runSeeds(seeds: Seeds): Promise<Tally> {
  const { first, count, stores, only } = seeds;
  const tally = emptyTally();
  for (let seed = first; seed < first + count; seed += 1) {
    if (only !== undefined && storeOf(seed, stores) !== only) continue;
    countRun(tally, await run(seed, seeds));
  }
  return tally;
}

/** Runs the seeds until one breaks an invariant. Returns the number of runs, and the violation if there was one. */
export async function huntViolation(seeds: Seeds): Promise<Hunted> {
  const { first, count } = seeds;
  for (let runs = 1; runs <= count; runs += 1) {
    const { violation } = await run(first + runs - 1, seeds);
    if (violation) return { runs, seed: first + runs - 1, invariant: violation.invariant };
  }
  return { runs: count };
}

/** Each run begins in a microtask. In the handler of a message, `TrueTime` would pass its first ticks before the promises. */
async function run(seed: number, { stores, alone }: Seeds): Promise<CountedRun> {
  await Promise.resolve();
  return alone ? await PLAYED_ALONE[alone](seed) : await simulate(drawPlan(seed, stores));
}

export interface Hunted {
  readonly runs: number;
  readonly seed?: number | undefined;
  readonly invariant?: string | undefined;
}

/** Puts each known bug into the sources of a process. The simulation has to catch it within the given number of runs. */
import { describe, test } from "vitest";
import { INVARIANTS } from "./violation.ts";
import { huntMutant } from "./mutants/hunt.ts";
import { MUTANTS } from "./mutants/mutants.ts";

describe.concurrent("the simulation catches a library in which", () => {
  test.for(MUTANTS)("$bug", { timeout: 1_800_000 }, async (mutant, { expect: expectHere }) => {
    const { invariant, runs } = await huntMutant(mutant, { first: mutant.from, count: mutant.within });

    expectHere(Object.keys(INVARIANTS)).toContain(invariant);
    expectHere(runs).toBeLessThanOrEqual(mutant.within);
  });
});

/** Each known bug, put into the sources of a process of its own, is caught by the simulation within the runs that it is given. */
import { describe, test } from "vitest";
import { INVARIANTS } from "./violation.ts";
import { huntMutant } from "./mutants/hunt.ts";
import { MUTANTS } from "./mutants/mutants.ts";

/** Where to begin, for the bugs that few seeds show: any seed would do, but hundreds of runs take a while. */
const FIRST: Readonly<Record<string, number>> = {
  "blob-fence-open": 700,
  "counts-from-the-reply": 95,
  "found-nonce-counts-from-now": 96,
  "done-is-open": 393,
  "hand-over-drops-a-hold": 719,
  "holder-trusts-wall-clock": 519,
  "loss-while-ending-unwatched": 286,
  "no-deadline-timer": 99,
  "no-forward-promise": 350,
  "nonce-kept-by-the-chosen": 850,
  "older-file-trusted": 810,
  "rival-counts-from-its-send": 231,
  "rosters-ignored": 290,
  "win-after-abort-kept": 1222,
};

describe.concurrent("the simulation catches a library in which", () => {
  test.for(MUTANTS)("$bug", { timeout: 300_000 }, async (mutant, { expect: expectHere }) => {
    const { invariant, runs } = await huntMutant(mutant, { first: FIRST[mutant.name] ?? 1, count: mutant.within });

    expectHere(Object.keys(INVARIANTS)).toContain(invariant);
    expectHere(runs).toBeLessThanOrEqual(mutant.within);
  });
});

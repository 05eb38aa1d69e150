/** Puts each known bug into the sources of a process. The simulation has to catch it within the given number of runs. */
import { describe, test } from "vitest";
import { INVARIANTS } from "./violation.ts";
import { huntMutant } from "./mutants/hunt.ts";
import { MUTANTS } from "./mutants/mutants.ts";

/** The first seed for bugs that few seeds show. Any seed would do, but hundreds of runs take a while. */
const FIRST: Readonly<Record<string, number>> = {
  "a-failed-look-blinds": 245,
  "acknowledges-without-a-disk": 600,
  "any-leader-keeps-alive": 390,
  "blob-fence-open": 710,
  "break-leaves-a-hold": 170,
  "break-leaves-a-turn": 420,
  "completion-retried-at-once": 295,
  "counts-from-the-keep-alive": 290,
  "counts-from-the-reply": 95,
  "counts-from-the-term-write": 80,
  "done-is-open": 393,
  "found-nonce-counts-from-now": 4_560,
  "hand-over-drops-a-hold": 719,
  "hand-renewal-from-its-reply": 300,
  "hand-renewal-has-no-deadline": 95,
  "handshake-torn-down": 120,
  "hold-is-fixed": 2_050,
  "hold-lost-with-a-reply": 755,
  "hold-not-kept": 2_315,
  "holder-trusts-wall-clock": 519,
  "late-win-leads": 740,
  "loss-while-ending-unwatched": 286,
  "no-deadline-timer": 99,
  "no-forward-promise": 460,
  "nonce-kept-by-the-chosen": 950,
  "note-tried-once": 60,
  "older-file-trusted": 810,
  "order-again-at-the-successor": 140,
  "rival-counts-from-its-send": 330,
  "rosters-ignored": 640,
  "stall-ignored": 90,
  "syncs-ignored": 700,
  "takes-lower-terms": 600,
  "trial-right-after-a-vote": 130,
  "votes-twice-a-term": 2_400,
  "win-after-abort-kept": 1222,
};

describe.concurrent("the simulation catches a library in which", () => {
  test.for(MUTANTS)("$bug", { timeout: 1_800_000 }, async (mutant, { expect: expectHere }) => {
    const { invariant, runs } = await huntMutant(mutant, { first: FIRST[mutant.name] ?? 1, count: mutant.within });

    expectHere(Object.keys(INVARIANTS)).toContain(invariant);
    expectHere(runs).toBeLessThanOrEqual(mutant.within);
  });
});

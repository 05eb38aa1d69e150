import { readKnownMutants, runMutant } from "@leasehold/test-kit/mutants/known-mutants";
import { expect, test } from "vitest";

/** The schedules in which each mutant has to be caught. */
const SEEDS = 600;
/** Random schedules seldom show a rare one. A test of the rule by itself, or a directed attack, catches it. */
const MUTANTS = readKnownMutants(`${import.meta.dirname}/world`).filter(({ orders }) => orders !== "rare");

test.for(MUTANTS)("the judge notices $name: $bug", { timeout: 1_800_000 }, async (mutant) => {
  const played = await runMutant(mutant, new URL("./world/main.ts", import.meta.url), ["--seeds", String(SEEDS)]);
  expect(played).toMatch(/^seed \d+: /);
});

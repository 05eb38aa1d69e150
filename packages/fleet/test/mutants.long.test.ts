import { readKnownMutants, runMutant } from "@leasehold/test-kit/mutants/known-mutants";
import { expect, test } from "vitest";

/** The first schedule of each mutant shows it. Another schedule soon after shows it if a change of the code has moved the first. */
const SEEDS = "300";
const MUTANTS = readKnownMutants(`${import.meta.dirname}/world`)
  .map((mutant) => ({ ...mutant, first: /^from (\d+)$/.exec(mutant.orders)?.[1] }))
  // Random schedules of 200,000 starts of shards do not show the others. Their orders name the test that does.
  .filter(({ first }) => first !== undefined);

test.for(MUTANTS)("the judge notices $name: $bug", { timeout: 1_800_000 }, async (mutant) => {
  const orders = ["--first", mutant.first ?? "", "--seeds", SEEDS];
  const played = await runMutant(mutant, new URL("./world/main.ts", import.meta.url), orders);
  expect(played).toMatch(/^seed \d+: /);
});

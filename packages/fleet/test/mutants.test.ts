import { readKnownMutants, strayPatches } from "@leasehold/test-kit/mutants/known-mutants";
import { expect, test } from "vitest";

test.for(readKnownMutants(`${import.meta.dirname}/world`))("$name changes what stands once in its file", (mutant) => {
  expect(strayPatches(mutant)).toEqual([]);
  // Either a schedule shows it, or the unit test with this name.
  expect(mutant.orders).toMatch(/^(from \d+|unit \S+\.test\.ts)$/);
});

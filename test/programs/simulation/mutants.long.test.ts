/** Each known bug, put into the sources of a process of its own, is caught by the simulation within the runs that it is given. */
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { INVARIANTS } from "./violation.ts";
import { huntMutant } from "./mutants/hunt.ts";
import { MUTANTS } from "./mutants/mutants.ts";

describe.concurrent("the simulation catches a library in which", () => {
  test.for(MUTANTS)("$bug", { timeout: 300_000 }, async (mutant, { expect: expectHere }) => {
    const { invariant, runs } = await huntMutant(mutant, { first: 1, count: mutant.within });

    expectHere(Object.keys(INVARIANTS)).toContain(invariant);
    expectHere(runs).toBeLessThanOrEqual(mutant.within);
  });
});

test("every mutant has a name of its own, and changes what is there", () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  expect(MUTANTS.length).toBeGreaterThanOrEqual(15);
});

test("every mutant breaks an invariant that ARCHITECTURE.md names", async () => {
  const architecture = await readFile(new URL("../../../ARCHITECTURE.md", import.meta.url), "utf8");
  const named = [...architecture.matchAll(/^- \*\*(.+?)\.?\*\*/gm)].map(([, name]) => name!.toLowerCase());

  expect(named).toEqual(expect.arrayContaining(MUTANTS.map(({ rule }) => rule.toLowerCase())));
});

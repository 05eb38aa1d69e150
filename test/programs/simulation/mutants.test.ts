import { readFile } from "node:fs/promises";
import { strayPatches } from "@leasehold/test-kit/mutants/known-mutants";
import { expect, test } from "vitest";
import { MUTANTS } from "./mutants/mutants.ts";

const ROOT = new URL("../../../", import.meta.url);

test("every mutant breaks an invariant that ARCHITECTURE.md names", async () => {
  const architecture = await readFile(new URL("ARCHITECTURE.md", ROOT), "utf8");
  const named = [...architecture.matchAll(/^- \*\*(.+?)\.?\*\*/gm)].map(([, name]) => name!.toLowerCase());

  expect(named).toEqual(expect.arrayContaining(MUTANTS.map(({ rule }) => rule.toLowerCase())));
});

test.for(MUTANTS)("$name changes what stands once in its file", (mutant) => {
  expect(strayPatches(mutant)).toEqual([]);
});

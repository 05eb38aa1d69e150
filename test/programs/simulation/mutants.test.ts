import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { MUTANTS } from "./mutants/mutants.ts";

const ROOT = new URL("../../../", import.meta.url);

test("every mutant has a name of its own", () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  expect(MUTANTS.length).toBeGreaterThanOrEqual(15);
});

test("every mutant breaks an invariant that ARCHITECTURE.md names", async () => {
  const architecture = await readFile(new URL("ARCHITECTURE.md", ROOT), "utf8");
  const named = [...architecture.matchAll(/^- \*\*(.+?)\.?\*\*/gm)].map(([, name]) => name!.toLowerCase());

  expect(named).toEqual(expect.arrayContaining(MUTANTS.map(({ rule }) => rule.toLowerCase())));
});

test.for(MUTANTS)("$name changes what stands once in its file", async ({ patches }) => {
  for (const { file, find } of patches) {
    const source = await readFile(new URL(file, ROOT), "utf8");

    expect(source.split(find), `${file}: ${find}`).toHaveLength(2);
  }
});

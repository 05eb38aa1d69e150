import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readKnownMutants } from "../mutants/known-mutants.ts";

const BUG = "@ a-bug rare\nit is one\npackages/a.ts\n-one\n+two\n";

function read(text: string): readonly unknown[] {
  const folder = mkdtempSync(join(tmpdir(), "mutants-"));
  try {
    writeFileSync(join(folder, "some.diff"), text);
    return readKnownMutants(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("reads each bug below its rule", () => {
  const patches = [{ file: "packages/a.ts", find: "one", replace: "two" }];
  expect(read(`rule: a rule\n\n${BUG}`)).toMatchObject([
    { name: "a-bug", rule: "a rule", bug: "it is one", orders: "rare", patches },
  ]);
});

test("refuses a bug that stands before the first rule, because it would not be played", () => {
  expect(() => read(BUG)).toThrow("stands before the first rule");
});

import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { MUTANTS } from "./world/mutants.ts";

test.for(MUTANTS)("$name changes what stands once in its file", async ({ patches }) => {
  for (const { file, find } of patches) {
    const source = await readFile(new URL(`../src/${file}`, import.meta.url), "utf8");
    expect(source.split(find), `${file}: ${find}`).toHaveLength(2);
  }
});

import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

/** The code blocks of each document, in this order. */
const SHOWN = { "README.md": ["elector", "quorum"], "fencing.md": ["script", "multi"] };

test.each(Object.entries(SHOWN))("%s shows code whose types are checked", async (document, names) => {
  const text = await readFile(new URL(`../${document}`, import.meta.url), "utf8");
  const shown = [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code);
  const files = names.map((name) => readFile(new URL(`./readme/${name}.ts`, import.meta.url), "utf8"));
  const checked = (await Promise.all(files)).map((file) => file.replace(/\n\/\/ Not shown:.*$/s, "\n"));

  expect(shown).toEqual(checked);
});

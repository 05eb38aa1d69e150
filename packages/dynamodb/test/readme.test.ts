import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const FILES = ["elector", "fence", "lambda", "metrics"];

test("the README shows code whose types are checked", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const shown = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code);
  const files = FILES.map((name) => readFile(new URL(`./readme/${name}.ts`, import.meta.url), "utf8"));
  const checked = (await Promise.all(files)).map((file) => file.replace(/\n\/\/ Not shown:.*$/s, "\n"));

  expect(shown).toEqual(checked);
});

import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { CONTENDER_NAMES } from "./contenders.ts";
import type { Measured } from "./measured.ts";
import { cellOf, ROWS, type Row } from "./rows.ts";
import { pageOf } from "./page.ts";
import { pictureOf } from "./picture.ts";

const measured = JSON.parse(await readFile(new URL("measured.json", import.meta.url), "utf8")) as Measured;
const docs = new URL("../../../../site/pages/", import.meta.url);
const report = measured.contenders["leasehold-dynamodb"]!;
const row = (...samples: ReadonlyArray<number | undefined>): Row => ({
  measure: "",
  unit: "",
  samples: () => samples,
  never: "never",
});

describe("site/pages/benchmark.md and its picture", () => {
  test("are what the last run has measured, of every library", async () => {
    expect(Object.keys(measured.contenders)).toEqual(CONTENDER_NAMES);
    await expect(readFile(new URL("benchmark.md", docs), "utf8")).resolves.toBe(pageOf(measured));
    await expect(readFile(new URL("benchmark.svg", docs), "utf8")).resolves.toBe(await pictureOf(measured));
  });

  test("have a figure in every cell of what was measured", () => {
    for (const each of ROWS.filter(({ samples }) => samples(report).length > 0))
      expect(cellOf(each, report), each.measure).not.toBe("");
  });
});

test("a cell tells the median, the worst, and how often something never came", () => {
  expect(cellOf(row(1, 2, 9), report)).toBe("2 [9]");
  expect(cellOf(row(2, 2, 2), report)).toBe("2");
  expect(cellOf(row(1, undefined, 3), report)).toBe("2 [3], never 1 of 3");
  expect(cellOf(row(undefined, undefined), report)).toBe("never");
});

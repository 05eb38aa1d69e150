import { expect, test } from "vitest";
import { append, runsOf, type Entry } from "../candidates/register.ts";

test("successive entries of a term are one run, and everything else begins another one", () => {
  expect(runsOf("")).toEqual([]);
  expect(written([1, "a1", 1], [1, "a1", 2], [2, "b1", 1], [2, "b1", 2], [2, "b1", 4])).toEqual([
    { term: 1, worker: "a1", from: 1, to: 2 },
    { term: 2, worker: "b1", from: 1, to: 2 },
    { term: 2, worker: "b1", from: 4, to: 4 },
  ]);
});

test("the last entry may be written again, because an SDK retries after a lost reply", () => {
  expect(written([1, "a1", 1], [1, "a1", 2], [1, "a1", 2])).toEqual([{ term: 1, worker: "a1", from: 1, to: 2 }]);
});

test("a late entry stays visible", () => {
  expect(written([1, "a1", 1], [2, "b1", 1], [1, "a1", 2], [2, "b1", 2])).toEqual([
    { term: 1, worker: "a1", from: 1, to: 1 },
    { term: 2, worker: "b1", from: 1, to: 1 },
    { term: 1, worker: "a1", from: 2, to: 2 },
    { term: 2, worker: "b1", from: 2, to: 2 },
  ]);
  expect(written([1, "a1", 2], [1, "a1", 1])).toHaveLength(2);
  expect(written([1, "a1", 1], [1, "b1", 2])).toHaveLength(2);
});

function written(...entries: ReadonlyArray<readonly [term: number, worker: string, sequence: number]>) {
  const all = entries.map(([term, worker, sequence]): Entry => ({ term, worker, sequence }));
  return runsOf(all.reduce(append, ""));
}

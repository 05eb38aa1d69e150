import { expect, test } from "vitest";
import { blockRatios, median, summarize } from "./statistics.ts";

test("the median is the middle sample, or halfway between the two in the middle", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(median([10, 9])).toBe(9.5);
  expect(() => median([])).toThrow(RangeError);
});

test("a summary has the count, the median and the range", () => {
  expect(summarize([5, 1, 100])).toEqual({ n: 3, median: 5, min: 1, max: 100 });
});

test("a block's ratio is that of its medians, and blocks do not mix", () => {
  const ours = [2, 2, 50, 9, 9, 9];
  const base = [1, 1, 1, 3, 3, 300];
  expect(blockRatios(ours, base, 3)).toEqual([2, 3]);
});

test("turns beyond the last full block, or without a partner, are left out", () => {
  expect(blockRatios([1, 1, 1, 1, 1], [1, 1, 1], 2)).toEqual([1]);
});

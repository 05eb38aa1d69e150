/** Tests the functions on rosters that need no store. */
import { expect, test } from "vitest";
import { areRelated, newestOf, type Roster } from "../src/roster.ts";

test("the newest roster is the one with the highest number, in any order", () => {
  const [one, two] = [1, 2].map((number) => ({ number, incarnations: {}, later: [], past: [] }));
  expect(newestOf([two!, one!])).toBe(two);
  expect(newestOf([one!, two!])).toBe(two);
  expect(newestOf([])).toBeUndefined();
});

test("rosters are of one quorum if any store is, or was, in both", () => {
  const rosterOf = (markers: readonly string[], past: readonly string[] = []): Roster => ({
    number: 1,
    incarnations: Object.fromEntries(markers.map((marker, at) => [`m${at}`, marker])),
    later: [],
    past,
  });
  const one = rosterOf(["a", "b", "c"], ["before"]);
  expect(areRelated(one, rosterOf(["a", "y", "z"]))).toBe(true);
  expect(areRelated(one, rosterOf(["x", "y", "before"]))).toBe(true);
  expect(areRelated(one, rosterOf(["x", "y", "z"], ["w", "c"]))).toBe(true);
  expect(areRelated(one, rosterOf(["x", "y", "z"], ["w"]))).toBe(false);
});

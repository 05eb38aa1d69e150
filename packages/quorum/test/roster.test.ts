/** Tests which rosters are related. */
import { expect, test } from "vitest";
import { areRelated, type Roster } from "../src/roster.ts";

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

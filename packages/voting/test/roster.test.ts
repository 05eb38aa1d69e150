/** The lists of servers that work together, and the steps from one list to the next. */
import { describe, expect, test } from "vitest";
import { asRoster, clusterOf, differenceOf, distanceOf, inWords, rosterAtStart } from "../src/roster.ts";

test("lists in another order are the same", () => {
  expect(clusterOf(["a", "b", "c"])).toBe(clusterOf(["c", "a", "b"]));
  expect(clusterOf(["a", "b"])).not.toBe(clusterOf(["a", "b", "c"]));
  expect(clusterOf(["a,b"])).not.toBe(clusterOf(["a", "b"]));
});

test.each([
  [["a", "b"], ["a", "b"], 0, ""],
  [["a", "b", "c", "d"], ["a", "b"], 2, "has c, d"],
  [["a"], ["a", "b"], 1, "lacks b"],
  [["a", "c"], ["a", "b"], 2, "has c and lacks b"],
] as const)("the difference of %j and %j", (names, others, distance, words) => {
  const difference = differenceOf(names, others);
  expect(distanceOf(difference)).toBe(distance);
  expect(inWords(difference)).toBe(words);
});

describe("a server begins with another list", () => {
  const kept = { server: "a", names: ["a", "b", "c"], met: ["b", "c"], hasBegun: true };
  const change = (names: readonly string[], from: Partial<typeof kept> = {}, server = "a") =>
    rosterAtStart({ ...kept, ...from }, { server, names }, "/dir");

  test("that has one server more or less, once it has met the servers of both", () => {
    for (const names of [
      ["a", "b", "c"],
      ["c", "b", "a"],
      ["a", "b", "c", "d"],
      ["a", "b"],
    ]) {
      expect(() => change(names)).not.toThrow();
    }
    // A server that leaves or comes need not have been met.
    expect(() => change(["a", "b"], { met: ["b"] })).not.toThrow();
    expect(() => change(["a", "b", "c"], { met: [] })).not.toThrow();
  });

  test.each([
    [["a", "b", "c", "d", "e"], {}, /has d, e now\. Add or remove one server at a time/],
    [["a", "b", "d"], {}, /worked with a, b, c before; the list has d and lacks c now\. Add or remove one/],
    [["a", "b", "c", "d"], { met: ["b"] }, /It has not met c with the list of before/],
    [["a", "b", "c", "d"], { met: [] }, /It has not met b, c with the list of before/],
    [["a", "b"], { met: ["c"] }, /It has not met b with/],
    [["a", "b"], { hasBegun: false }, /It has not taken part with the list of before: start all servers with that one first/],
  ] as const)("but not with %j from %j", (names, from, message) => {
    expect(() => change(names, from as object)).toThrow(message);
  });

  test("and keeps its state of the same list, or still needs the reports of the others of the new list", () => {
    expect(change(["c", "b", "a"])).toEqual({ roster: { ...kept, names: ["c", "b", "a"] }, isMoved: false });
    expect(change(kept.names, { hasBegun: false })).toEqual({ roster: { ...kept, hasBegun: false }, isMoved: true });
    const roster = { server: "a", names: ["a", "b"], met: [], hasBegun: false };
    expect(change(["a", "b"])).toEqual({ roster, isMoved: true });
    expect(rosterAtStart(undefined, { server: "a", names: ["a", "b"] }, "/dir")).toEqual({ roster, isMoved: false });
  });

  test("only in its own directory", () => {
    expect(() => change(["a", "b", "c"], {}, "b")).toThrow(/^stateDirectory \/dir belongs to the server 'a', and this is 'b'/);
  });
});

test("a kept list is read again, and other text is refused", () => {
  const roster = { server: "a", names: ["a", "b"], met: ["b"], hasBegun: true };
  expect(asRoster(JSON.stringify({ ...roster, more: 1 }))).toEqual(roster);
  for (const line of [
    "",
    "null",
    "5",
    { ...roster, server: 5 },
    { ...roster, names: "a" },
    { ...roster, met: [5] },
    { ...roster, hasBegun: 1 },
  ]) {
    expect(asRoster(typeof line === "string" ? line : JSON.stringify(line))).toBeUndefined();
  }
});

import { describe, expect, test } from "vitest";
import { idRanges, nameOf, Paths } from "../src/paths.ts";

describe("the ids of a prefix", () => {
  test.for([
    ["", [{}]],
    ["p", [{ from: "p", end: "q" }]],
    ["p%", [{ from: "p%25", end: "p%26" }]],
    // A slash and the ids that Firestore reserves are no bounds.
    [
      ".",
      [
        { from: ".!", end: "0" },
        { from: "%2E", end: "%2F" },
      ],
    ],
    [
      "..",
      [
        { from: "..!", end: ".0" },
        { from: "%2E%2E", end: "%2E%2F" },
      ],
    ],
    ["-", [{ from: "-", end: ".!" }]],
    [
      "_",
      [
        { from: "_", end: "`" },
        { from: "%5F", end: "%5G" },
      ],
    ],
    [
      "__x__",
      [
        { from: "__x__!", end: "__x_`" },
        { from: "%5F_x__", end: "%5F_x_`" },
      ],
    ],
    ["_x", [{ from: "_x", end: "_y" }]],
  ] as const)("%j are %j", ([prefix, ranges]) => {
    expect(idRanges(prefix)).toEqual(ranges);
  });
});

test.for(["p/q", ".", "..", "__x__", "100%", "caf\u00e9", "__"])("the id of %j is that name's again", (name) => {
  const id = new Paths("leasehold").record(name).slice("leasehold/".length);
  expect(nameOf(id)).toBe(name);
});

test.for(["a b", "%", "%2e", "%41", "caf\u00e9"])("no name has the id %j", (id) => {
  expect(nameOf(id)).toBeUndefined();
});

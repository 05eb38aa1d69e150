import { describe, expect, test } from "vitest";
import { evaluateCondition } from "./condition-evaluation.ts";

const PATH = "@Resource[Microsoft.Storage/storageAccounts/blobServices/containers/blobs:path]";

describe("the evaluation of conditions", () => {
  test.each([
    ["ActionMatches{'a/read'}", true],
    ["ActionMatches{'a/*'}", true],
    ["ActionMatches{'a/write'}", false],
    ["!(ActionMatches{'a/read'})", false],
    ["(ActionMatches{'a/read'} AND !(ActionMatches{'a/write'})) OR ActionMatches{'b'}", true],
    ["ActionMatches{'a/write'} AND (ActionMatches{'a/read'} OR ActionMatches{'a/read'})", false],
    [`${PATH} ForAnyOfAnyValues:StringEquals {'x', 'ticks/y/1'}`, true],
    [`${PATH} ForAnyOfAnyValues:StringEquals {'x', 'TICKS/y/1'}`, false],
    [`${PATH} ForAnyOfAnyValues:StringLike {'ticks/y/*'}`, true],
    [`${PATH} ForAnyOfAnyValues:StringLike {'ticks/?/?'}`, true],
    [`${PATH} ForAnyOfAnyValues:StringLike {'ticks.y*'}`, false],
    [`${PATH} ForAnyOfAnyValues:StringLike {'*/x/*'}`, false],
  ])("%s", (condition, allowed) => {
    expect(evaluateCondition(condition, { action: "a/read", path: "ticks/y/1" })).toBe(allowed);
  });

  test.each([
    "ActionMatches{'a'} AND ActionMatches{'b'} OR ActionMatches{'c'}",
    "ActionMatches{'a'} ActionMatches{'b'}",
    "(ActionMatches{'a'}",
    "ActionMatches{'a'",
    "@Request[x] ForAnyOfAnyValues:StringEquals {'a'}",
    `${PATH} Equals {'a'}`,
  ])("refuses %s", (condition) => {
    expect(() => evaluateCondition(condition, { action: "a/read", path: "x" })).toThrow(Error);
  });
});

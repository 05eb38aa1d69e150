/** The check of a fence that was found, for every database. */
import { describe, expect, test } from "vitest";
import { checkFence, fenceIsMissing, outranks } from "../src/fence.ts";
import type { Row } from "../src/schema.ts";
import { recordOf } from "./sql-world.ts";

const LED = { election: "e", term: 2, termId: "t" };

/** Returns the check's error, or that it passed. */
function checked(found: Row | undefined): unknown {
  try {
    checkFence(LED, found);
    return "passed";
  } catch (error) {
    return (error as { readonly currentTerm?: number }).currentTerm;
  }
}

test.for<[found: Row | undefined, says: unknown]>([
  [{ term: 2, term_id: "t" }, "passed"],
  [{ term: "2", term_id: Buffer.from("t") }, "passed"],
  [{ term: 3, term_id: "t" }, 3],
  [{ term: 2, term_id: "u" }, 2],
  [{ term: 2, term_id: null }, 2],
  // A row that was made, and never used for an acquisition.
  [{ term: null, term_id: null }, undefined],
  [undefined, undefined],
])("of %o a check says %s", ([found, says]) => {
  expect(checked(found)).toBe(says);
});

test("an error for a fence that is behind the leadership names the tables", () => {
  const why = /of another database than the lease, or of a quorum's member that was not sealed/;
  for (const found of [undefined, { term: 1, term_id: "t" }]) expect(() => checkFence(LED, found)).toThrow(why);
  for (const term of [2, 3]) expect(() => checkFence(LED, { term, term_id: null })).not.toThrow(why);
});

test("a later term replaces a fence, and with a quorum's record any term does", () => {
  const fence = { term: 7, termId: "t" };
  expect(outranks(recordOf({ term: 7 }), fence)).toBe(7);
  expect(outranks(recordOf({ schema: 4, term: 7, quorum: "{}" }), fence)).toBeGreaterThan(Number.MAX_SAFE_INTEGER);
});

describe("a write that changed nothing", () => {
  test.for<[found: Row | undefined, missing: boolean]>([
    [undefined, false],
    [{ version: "another", fence_term: null }, false],
    [{ version: "v", fence_term: null }, true],
    [{ version: "v", fence_term: 4 }, false],
    [{ version: "another", fence_term: 9 }, false],
  ])("and found %o: the fence is missing: %s", ([found, missing]) => {
    expect(fenceIsMissing("e", 5, "v", found, "leasehold_fences")).toBe(missing);
  });

  test.for([5, 6])("is an error that names term %d, if the fence has it already", (term) => {
    expect(() => fenceIsMissing("e", 5, "v", { version: "v", fence_term: term }, "leasehold_fences")).toThrow(
      expect.objectContaining({ code: "TERM_REGRESSED", highestTermSeen: term }),
    );
  });
});

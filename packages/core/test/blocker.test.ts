import type { LeaseSnapshot } from "@leasehold/core";
import { blockerOf, mayAcquire, type Blocker } from "@leasehold/core/provider";
import { describe, expect, test } from "vitest";

describe("the blocker of an acquisition", () => {
  const pause = { kind: "pause", reason: "restore" } as const;
  const all = { done: true, pause: undefined as typeof pause | undefined, holdMs: 5, transferTo: "b", group: "west" };

  // From the strongest blocker to the weakest: each line leaves out the one before.
  test.each([
    [{ ...all, state: "held" }, { kind: "done" }],
    [{ ...all, state: "held", done: false, pause }, pause],
    [{ ...all, state: "held", done: false }, { kind: "lease" }],
    [{ ...all, state: "ending", done: false }, { kind: "lease" }],
    [{ ...all, state: "unknown", done: false }, { kind: "lease" }],
    [
      { ...all, state: "vacant", done: false },
      { kind: "hold", leftMs: 5 },
    ],
    [
      { ...all, state: "expired", done: false, holdMs: 0 },
      { kind: "transfer", candidateId: "b" },
    ],
    [
      { state: "vacant", group: "west" },
      { kind: "reservation", group: "west" },
    ],
    [{ state: "vacant" }, undefined],
    [{ state: "expired", holdMs: -1 }, undefined],
  ] as const)("of %j", (claims, bar) => {
    expect(blockerOf(claims)).toEqual(bar);
  });
});

describe("candidates that may acquire", () => {
  const who = [
    ["b", undefined],
    ["b", "west"],
    ["c", undefined],
    ["c", "west"],
  ] as const;

  test.each<[Blocker | undefined, boolean[]]>([
    [undefined, [true, true, true, true]],
    [{ kind: "done" }, [false, false, false, false]],
    [{ kind: "lease" }, [false, false, false, false]],
    [{ kind: "pause", reason: "restore" }, [false, false, false, false]],
    [{ kind: "hold", leftMs: 1 }, [false, false, false, false]],
    [{ kind: "transfer", candidateId: "b" }, [true, true, false, false]],
    [{ kind: "reservation", group: "west" }, [false, true, false, true]],
  ])("under %j", (bar, expected) => {
    const snapshot = { bar } as LeaseSnapshot;
    expect(who.map(([candidateId, group]) => mayAcquire(snapshot, candidateId, group))).toEqual(expected);
  });

  test("any candidate, if the election has no record", () => {
    expect(mayAcquire(undefined, "b")).toBe(true);
  });
});

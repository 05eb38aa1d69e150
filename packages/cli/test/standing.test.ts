import type { LeaseSnapshot, LeaseStore } from "@leasehold/core";
import type { ReadOptions } from "@leasehold/core/provider";
import { expect, test } from "vitest";
import { ageOf, barText, look } from "../src/snapshots.ts";

const LEASE: LeaseSnapshot = { election: "e", state: "held", term: 1, leaseDurationMs: 15_000 };

test.for([
  [[3_200, 3_200], "3.2 s of 15 s"],
  [[3_200, 3_210], "3.2 s of 15 s"],
  [[3_200, 8_000], "3.2 s to 8 s of 15 s"],
  [[3_200, Infinity], "3.2 s or more of 15 s"],
] as const)("an age of %j ms is shown as %s", ([ageMs, text]) => {
  expect(ageOf({ ...LEASE, ageMs })).toBe(text);
});

test("an unknown age is not shown, nor an unknown lease", () => {
  expect(ageOf(LEASE)).toBe("");
  expect(ageOf({ election: "e", state: "vacant", term: 0, ageMs: [1, 1] })).toBe("1 ms");
});

test.for([
  [{}, ""],
  [{ bar: { kind: "lease" } }, ""],
  [{ bar: { kind: "done" } }, "done"],
  [{ bar: { kind: "pause", reason: "a\nrestore" } }, "paused: a\\u{a}restore"],
  [{ bar: { kind: "pause", reason: "restore", sinceMs: 0 } }, "paused: restore, since 1970-01-01T00:00:00.000Z"],
  [{ bar: { kind: "hold", leftMs: 4_000 } }, "held free for 4 s more"],
  [{ bar: { kind: "transfer", candidateId: "two\u202e" } }, "for two\\u{202e} alone"],
  [{ bar: { kind: "reservation", group: "blue" } }, "for the group blue alone"],
  [{ bar: { kind: "transfer", candidateId: "two" }, endingReason: "it\nhangs" }, "broken: it\\u{a}hangs, for two alone"],
] as const)("the block %j is shown as %j", ([found, text]) => {
  expect(barText({ ...LEASE, ...found })).toBe(text);
});

test("a read uses the store's own clock, if the store has one", async () => {
  const asked: Array<ReadOptions["expiry"]> = [];
  for (const storeClock of [{ toleranceMs: 100, exact: false }, undefined]) {
    const store = {
      capabilities: { storeClock },
      read: async (_: string, { expiry }: ReadOptions) => {
        asked.push(expiry);
        return await Promise.resolve(undefined);
      },
    } as unknown as LeaseStore;
    await look(store, "e");
  }
  expect(asked).toEqual(["store-clock", "observed"]);
});

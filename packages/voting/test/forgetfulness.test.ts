/** What a server may not do whose disk keeps nothing. */
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { Forgetfulness } from "../src/forgetfulness.ts";
import type { Elect, Lead } from "../src/messages.ts";

const LONGEST_MS = 10_000;
const TITLE = { election: "e", termId: "t", leaseDurationMs: LONGEST_MS };

test("it takes no longer lease, and votes for no term above its clock's, but answers to trials of any", () => {
  const clock = new VirtualClock();
  const forgetfulness = new Forgetfulness(clock, LONGEST_MS);
  const highest = Math.floor((clock.wallMs() + 9_000) / 1_000);
  expect(forgetfulness.highestTerm).toBe(highest);
  const elect = (term: number, more: Partial<Elect> = {}): Elect => ({
    ...{
      kind: "ELECT",
      ...TITLE,
      candidateId: "c",
      trial: false,
      term,
      heard: { term: 0, number: 0 },
      hasLed: false,
      hasFailed: false,
      holdMs: 0,
      claimMs: 0,
    },
    ...more,
  });
  const lead = (term: number, leaseDurationMs = LONGEST_MS): Lead => ({
    ...{ kind: "LEAD", ...TITLE, term, number: 1, candidateId: "x" },
    leaseDurationMs,
  });
  expect([elect(highest), elect(highest + 1)].map((one) => forgetfulness.forbids(one))).toEqual([false, true]);
  expect(forgetfulness.forbids(elect(highest + 1, { trial: true }))).toBe(false);
  expect(forgetfulness.forbids(elect(1, { trial: true, leaseDurationMs: LONGEST_MS + 1 }))).toBe(true);
  expect([lead(highest + 1), lead(1, LONGEST_MS + 1)].map((one) => forgetfulness.forbids(one))).toEqual([false, true]);
  expect(forgetfulness.forbids({ kind: "READ", election: "e" })).toBe(false);
  expect(forgetfulness.forbids({ kind: "RELEASE", ...TITLE, leaseDurationMs: 99_999, term: 1, number: 1, holdMs: 0 })).toBe(
    false,
  );
});

test("a term is possible by its own clock, or by half of all that are known", () => {
  const clock = new VirtualClock();
  const forgetfulness = new Forgetfulness(clock, LONGEST_MS);
  const highest = forgetfulness.highestTerm;
  const told = (...aheadMs: readonly number[]) => aheadMs.map((byMs) => ({ wallMs: clock.wallMs() + byMs }));
  expect(forgetfulness.isPossible(highest, told(-99_000, -99_000))).toBe(true);
  expect(forgetfulness.isPossible(highest + 1, told(0, 0))).toBe(false);
  expect(forgetfulness.isPossible(highest + 1, told(1_000, 999))).toBe(false);
  expect(forgetfulness.isPossible(highest + 1, told(1_000, 1_000))).toBe(true);
  expect(forgetfulness.isPossible(highest + 1, told(1_000, 1_000, 0))).toBe(true);
  expect(forgetfulness.isPossible(highest + 1, told(1_000, 1_000, 0, 0))).toBe(false);
});

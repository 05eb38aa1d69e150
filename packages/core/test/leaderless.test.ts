import type { LeaseSnapshot } from "@leasehold/core";
import type { LeaseState } from "@leasehold/core/provider";
import { expect, test } from "vitest";
import { Leaderless } from "../src/metrics/election-metrics.ts";

function snapshot(state: LeaseState, ageMs?: number): LeaseSnapshot {
  const holder = state === "vacant" ? {} : { holder: "other" };
  return { election: "e", state, term: 1, ...holder, ...(ageMs === undefined ? {} : { ageMs: [ageMs, ageMs] }) };
}

test("a candidate that observed no leader has no time without a leader", () => {
  const leaderless = new Leaderless();
  expect(leaderless.lastedMs(1_000)).toBeUndefined();
  leaderless.saw(undefined, 1_000);
  leaderless.saw(snapshot("vacant"), 2_000);
  leaderless.saw(snapshot("expired", 60_000), 3_000);
  expect(leaderless.lastedMs(4_000)).toBeUndefined();
});

test("a leader that released led until the last poll that showed it", () => {
  const leaderless = new Leaderless();
  leaderless.saw(snapshot("held", 0), 1_000);
  leaderless.saw(snapshot("held", 2_000), 3_000);
  leaderless.saw(snapshot("vacant"), 5_000);
  leaderless.saw(snapshot("vacant"), 7_000);
  expect(leaderless.lastedMs(8_000)).toBe(5_000);
});

test("a leader that died led until its last renewal, even if later polls show no age", () => {
  const leaderless = new Leaderless();
  leaderless.saw(snapshot("held", 0), 1_000);
  // A new lower bound of the age may be lower than the bound before. It proves no older renewal.
  leaderless.saw(snapshot("held", 4_500), 5_000);
  leaderless.saw(snapshot("expired"), 16_500);
  expect(leaderless.lastedMs(17_000)).toBe(16_000);
});

test("a leader without a known age led until the last poll that showed it", () => {
  const leaderless = new Leaderless();
  leaderless.saw(snapshot("held"), 1_000);
  leaderless.saw(snapshot("held"), 4_000);
  leaderless.saw(snapshot("expired"), 16_500);
  expect(leaderless.lastedMs(17_000)).toBe(13_000);
});

test("a new leader after a release restarts the time", () => {
  const leaderless = new Leaderless();
  leaderless.saw(snapshot("held", 0), 1_000);
  leaderless.saw(snapshot("vacant"), 5_000);
  leaderless.saw(snapshot("held", 0), 7_000);
  leaderless.saw(snapshot("expired"), 23_000);
  expect(leaderless.lastedMs(23_000)).toBe(16_000);
});

test("the candidate's own leadership lasts until its release, or until its last renewal", () => {
  const leaderless = new Leaderless();
  leaderless.leads(1_000);
  leaderless.leads(6_000);
  expect(leaderless.lastedMs(30_000)).toBe(24_000);
  leaderless.released(8_000);
  expect(leaderless.lastedMs(9_000)).toBe(1_000);
});

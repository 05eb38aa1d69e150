/** Whom a voter prefers. */
import { expect, test } from "vitest";
import { VirtualClock } from "@leasehold/core/testing";
import type { Elect } from "../src/messages.ts";
import { Trials } from "../src/trials.ts";

const trial = (term = 0, number = 0, hasFailed = false): Elect => ({
  kind: "ELECT",
  election: "e",
  trial: true,
  term: 1,
  termId: "x",
  candidateId: "c",
  leaseDurationMs: 1_000,
  heard: { term, number },
  hasFailed,
  holdMs: 50,
});

async function choose(
  trials: Trials,
  clock: VirtualClock,
  claims: Record<string, Elect>,
  lastLeader?: string,
): Promise<string[]> {
  const answers = Object.entries(claims).map(async ([from, elect]) => [from, await trials.isPreferred(elect, from, lastLeader)]);
  return (await clock.runUntil(Promise.all(answers))).filter(([, isIt]) => isIt).map(([from]) => from as string);
}

test("the old leader at once; else the latest term and number heard, then the first in the list", async () => {
  const clock = new VirtualClock();
  const trials = new Trials(clock, ["a", "b", "c"]);
  expect(await choose(trials, clock, { c: trial(2, 1), b: trial(2, 3), a: trial(1, 9) })).toEqual(["b"]);
  expect(await choose(trials, clock, { c: trial(), b: trial(), a: trial() })).toEqual(["a"]);
  const beforeMs = clock.monotonicMs();
  expect(await choose(trials, clock, { c: trial() }, "c")).toEqual(["c"]);
  expect(clock.monotonicMs() - beforeMs).toBeLessThan(50);
});

test("a claim whose last one has failed comes last, and is held though it is the old leader's", async () => {
  const clock = new VirtualClock();
  const trials = new Trials(clock, ["a", "b", "c"]);
  const failing = { c: trial(3, 1, true), b: trial(), a: trial(2, 1, true) };
  expect(await choose(trials, clock, failing, "c")).toEqual(["b"]);
  expect(await choose(trials, clock, { a: trial(2, 1, true), b: trial(2, 2, true) })).toEqual(["b"]);
  expect(await choose(trials, clock, { a: trial(0, 0, true) })).toEqual(["a"]);
});

/** The claim that a voter prefers, and the time for which it grants no other one. */
import { expect, test } from "vitest";
import { sleep } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import type { Elect } from "../src/messages.ts";
import { PreVotes } from "../src/pre-votes.ts";
import { elect } from "./one-election.ts";

const CLAIM_MS = 200;
const trial = (termId: string, of: Partial<Elect> = {}): Elect => ({
  ...elect(1, termId, true),
  ...{ holdMs: 50, claimMs: CLAIM_MS },
  ...of,
});
const heard = (term: number, number: number): Partial<Elect> => ({ heard: { term, number } });

/** Returns the servers whose trials one voter grants. The trials arrive at one instant, in this order. */
async function granted(
  clock: VirtualClock,
  preVotes: PreVotes,
  trials: Record<string, Partial<Elect>>,
  knownTerm = 0,
): Promise<string[]> {
  const answers = Object.entries(trials).map(async ([from, of]) => {
    const asked = trial(from, of);
    const choice = preVotes.hold(asked, from, knownTerm, clock.monotonicMs());
    if (!choice) return [];
    await sleep(clock, choice.untilMs - clock.monotonicMs());
    return preVotes.grants(choice, asked, clock.monotonicMs()) ? [from] : [];
  });
  return (await clock.runUntil(Promise.all(answers))).flat();
}

test.each<[why: string, trials: Record<string, Partial<Elect>>, best: string]>([
  ["the latest term heard", { c: heard(2, 1), b: heard(3, 1), a: heard(2, 9) }, "b"],
  ["the latest number of that term", { c: heard(2, 1), b: heard(2, 3), a: heard(1, 9) }, "b"],
  ["the leader of that term", { c: heard(2, 3), b: { ...heard(2, 3), hasLed: true }, a: heard(2, 3) }, "b"],
  ["the first name", { c: {}, b: {}, a: {} }, "a"],
  ["a claim whose last one has not failed", { c: { ...heard(3, 1), hasFailed: true, hasLed: true }, b: {} }, "b"],
])("prefers %s", async (_, trials, best) => {
  const clock = new VirtualClock();
  expect(await granted(clock, new PreVotes(), trials)).toEqual([best]);
  const backwards = Object.fromEntries(Object.entries(trials).toReversed());
  expect(await granted(clock, new PreVotes(), backwards)).toEqual([best]);
});

test.each([
  ["at once the leader that it has heard last", { ...heard(2, 1), hasLed: true }, 2, 0],
  ["after the hold a leader of an earlier term", { ...heard(2, 1), hasLed: true }, 3, 50],
  ["after the hold that leader, where its last claim has failed", { ...heard(2, 1), hasLed: true, hasFailed: true }, 2, 50],
])("grants %s", async (_, of, knownTerm, afterMs) => {
  const clock = new VirtualClock();
  const sinceMs = clock.monotonicMs();
  expect(await granted(clock, new PreVotes(), { a: of }, knownTerm)).toEqual(["a"]);
  expect(clock.monotonicMs() - sinceMs).toBe(afterMs);
});

test("grants no other server's trial while the claim that it has granted may be under way", async () => {
  const clock = new VirtualClock();
  const preVotes = new PreVotes();
  expect(await granted(clock, preVotes, { b: {} })).toEqual(["b"]);
  expect(await granted(clock, preVotes, { a: {} })).toEqual([]);
  expect(preVotes.waitMs("e", clock.monotonicMs(), "a")).toBe(CLAIM_MS);
  expect(preVotes.waitMs("e", clock.monotonicMs(), "b")).toBe(0);
  expect(preVotes.waitMs("another election", clock.monotonicMs())).toBe(0);
  await clock.advance(CLAIM_MS);
  expect(await granted(clock, preVotes, { a: {} })).toEqual(["a"]);
});

test("grants no other server's held trial after a vote, until that claim has ended", async () => {
  const clock = new VirtualClock();
  const preVotes = new PreVotes();
  const held = granted(clock, preVotes, { a: {} });
  preVotes.voted(trial("b"), "b", clock.monotonicMs());
  expect(await held).toEqual([]);
  preVotes.ended("e");
  expect(await granted(clock, preVotes, { a: {} })).toEqual(["a"]);
});

test("keeps no pre-vote for longer than any claim takes", () => {
  const preVotes = new PreVotes();
  preVotes.voted(trial("b", { claimMs: 3_600_000 }), "b", 0);
  expect(preVotes.waitMs("e", 0, "a")).toBe(10_000);
});

test("holds an answer for ten seconds at most, whatever the trial asks for", async () => {
  const clock = new VirtualClock();
  const sinceMs = clock.monotonicMs();
  await granted(clock, new PreVotes(), { a: { holdMs: 3_600_000 } });
  expect(clock.monotonicMs() - sinceMs).toBe(10_000);
});

/** Finished elections. A voter keeps a thousand of them, and one number for all others. */
import { expect, test } from "vitest";
import { VoterState } from "../src/voter-state.ts";
import { decodeStoredState, textOf } from "../src/voter-state-codec.ts";
import { breakOf, elect, EMPTY, lead, LEASE, release, transfer } from "./one-election.ts";

/** An election is finished after this time without a message about it. */
const GRACE_MS = 60_000;

/** Votes in `count` other elections, and once more when these are finished. */
function crowd(ballots: VoterState, nowMs: number, term = 2, count = 1_000): void {
  for (let index = 0; index < count; index += 1) ballots.elect({ ...elect(term, "y"), election: `next${index}` }, nowMs);
  ballots.elect({ ...elect(term, "y"), election: "last" }, nowMs + GRACE_MS);
}

test("finished elections above a thousand become one number", () => {
  const ballots = new VoterState(EMPTY, 0);
  for (let index = 1; index <= 1_200; index += 1) ballots.elect({ ...elect(index, "x"), election: `e${index}` }, index);
  expect(Object.keys(ballots.kept.elections).length).toBe(1_200);
  ballots.elect({ ...elect(1, "x"), election: "last" }, GRACE_MS + 1_200);
  const { elections, floor } = ballots.kept;
  expect(Object.keys(elections).length).toBe(1_001);
  expect(floor).toBe(200);
  expect(ballots.elect({ ...elect(200, "y"), election: "e7" }, 100_000).granted).toBe(false);
  expect(ballots.elect({ ...elect(201, "y"), election: "e7" }, 100_000).granted).toBe(true);
  // The voter refuses a LEAD of a lower term, and does not record it.
  expect(ballots.lead({ ...lead(3, 1), election: "e9" }, "a", 100_000).taken).toBe(false);
  expect(ballots.sign("e9", 100_000)).toBeUndefined();
});

test("an unfinished election displaces none, and no vote is answered before its displacement is on the disk", () => {
  const ballots = new VoterState(EMPTY, 0);
  ballots.elect({ ...elect(5, "x"), election: "voted" }, 0);
  for (let index = 0; index < 1_200; index += 1) ballots.lead({ ...lead(4, 1), election: `led${index}` }, "a", 1);
  ballots.elect({ ...elect(9, "y"), election: "one" }, GRACE_MS);
  expect(ballots.lead({ ...lead(5, 1), election: "voted" }, "a", GRACE_MS).taken).toBe(true);

  const voted = new VoterState(EMPTY, 0);
  voted.elect({ ...elect(5, "x"), election: "voted" }, 0);
  crowd(voted, 0, 4);
  expect(voted.kept.elections["voted"]).toBeUndefined();
  expect(voted.versionOf("voted")).toBe(voted.version);
});

test("a claim stays under way for a while after its vote: its first LEAD is accepted despite many other votes", () => {
  const ballots = new VoterState(EMPTY, 0);
  ballots.elect(elect(2, "t2"), 0);
  for (let index = 0; index < 2_000; index += 1) ballots.elect({ ...elect(4, "y"), election: `next${index}` }, 1);
  expect(ballots.lead(lead(2, 1), "a", 10_000).taken).toBe(true);
});

test("a leader that was silent for its lease may be heard again: a voter that was cut off or frozen has not dropped it", () => {
  const ballots = new VoterState(EMPTY, 0);
  const nameOf = (index: number): string => `led${index}`;
  const termOf = (index: number): number => 1 + ((index * 7) % 10);
  const leads = (number: number, nowMs: number): boolean[] =>
    Array.from(
      { length: 1_500 },
      (_, index) => ballots.lead({ ...lead(termOf(index), number), election: nameOf(index) }, "a", nowMs).taken,
    );
  leads(1, 0);
  const after = GRACE_MS + LEASE - 1;
  ballots.elect({ ...elect(1, "y"), election: "new" }, after);
  expect(leads(2, after)).not.toContain(false);
});

test("elections that were heard of longest ago are dropped first, led or not", () => {
  const ballots = new VoterState(EMPTY, 0);
  ballots.lead(lead(1, 1), "a", 0);
  for (let index = 0; index < 1_000; index += 1) ballots.elect({ ...elect(4, "y"), election: `next${index}` }, 1);
  ballots.lead(lead(1, 2), "a", 2);
  ballots.elect({ ...elect(4, "y"), election: "last" }, 10 * GRACE_MS);
  expect(Object.keys(ballots.kept.elections)).toContain("e");
  expect(Object.keys(ballots.kept.elections)).not.toContain("next0");
});

test("a broken term stays broken after its election was dropped", () => {
  const ballots = new VoterState(EMPTY, 0);
  ballots.lead(lead(4, 1), "a", 0);
  ballots.break(breakOf(4, true), 0);
  crowd(ballots, LEASE);
  expect(ballots.kept.elections).not.toHaveProperty("e");
  expect(ballots.lead(lead(4, 2), "a", 100_000).taken).toBe(false);
});

test("a late transfer to a term whose election was dropped after an order is refused", () => {
  const ballots = new VoterState(EMPTY, 0);
  ballots.lead(lead(7, 1), "a", 0);
  ballots.transfer(transfer(7, "second", false, 10), 0);
  ballots.release(release(7, 1), "a", 0);
  crowd(ballots, LEASE + 10);
  expect(ballots.kept).toMatchObject({ floor: 8 });
  expect(ballots.transfer(transfer(7, "first"), 100_000).taken).toBe(false);
});

test("an election at the highest terms is never dropped, because every other one would have to exceed it", () => {
  const ballots = new VoterState(EMPTY, 0);
  ballots.lead(lead(Number.MAX_SAFE_INTEGER, 1), "a", 0);
  ballots.break(breakOf(Number.MAX_SAFE_INTEGER, true), 0);
  crowd(ballots, LEASE, 2, 1_100);
  expect(ballots.kept.floor).toBe(2);
  expect(decodeStoredState(textOf({ writes: 1, seen: {}, ...ballots.kept }))).toBeDefined();
});

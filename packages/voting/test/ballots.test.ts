/** The rules by which one server votes. */
import { describe, expect, test } from "vitest";
import { VoterState } from "../src/voter-state.ts";
import { again, breakOf, elect, EMPTY, lead, LEASE, release } from "./one-election.ts";

describe("one vote in each term", () => {
  test("is for one claim, also after a start, and is repeated for that claim", () => {
    const ballots = new VoterState(EMPTY, 0);
    expect(ballots.elect(elect(1, "x"), 0).granted).toBe(true);
    expect(ballots.elect(elect(1, "x"), 0).granted).toBe(true);
    expect(ballots.elect(elect(1, "y"), 0).granted).toBe(false);

    const restarted = again(ballots, 10);
    expect(restarted.elect(elect(1, "y"), 5_000).granted).toBe(false);
    expect(restarted.elect(elect(1, "x"), 5_000).granted).toBe(true);
    expect(restarted.elect(elect(2, "y"), 5_000).granted).toBe(true);
  });

  test("is on the disk before the answer, and a trial changes nothing", () => {
    const ballots = new VoterState(EMPTY, 0);
    expect(ballots.elect(elect(9, "x", true), 0).granted).toBe(true);
    expect(ballots.version).toBe(0);
    expect(ballots.termOf("e")).toBe(0);
    ballots.elect(elect(1, "x"), 0);
    expect(ballots.version).toBe(1);
  });

  test("is not a lease: it does not block a later term", () => {
    const ballots = new VoterState(EMPTY, 0);
    ballots.elect(elect(1, "x"), 0);
    expect(ballots.elect(elect(2, "y"), 0).granted).toBe(true);
  });
});

describe("a LEAD", () => {
  test("blocks other candidates for its lease, and tells them for how long", () => {
    const ballots = new VoterState(EMPTY, 0);
    expect(ballots.lead(lead(1, 1), "a", 100).taken).toBe(true);
    expect(ballots.elect(elect(2, "y"), 500)).toMatchObject({ granted: false, waitMs: 600, term: 1 });
    expect(ballots.elect(elect(2, "y", true), 1_099).granted).toBe(false);
    expect(ballots.elect(elect(2, "y"), 1_100).granted).toBe(true);
  });

  test("with an older number extends nothing; one of a lower term is refused, one of a higher term accepted", () => {
    const ballots = new VoterState(EMPTY, 0);
    ballots.lead(lead(2, 2), "a", 0);
    ballots.lead(lead(2, 1), "a", 900);
    expect(ballots.waitMs("e", 900)).toBe(100);
    expect(ballots.lead(lead(1, 9), "b", 900)).toMatchObject({ taken: false, term: 2 });
    expect(ballots.lead(lead(3, 1), "b", 900)).toMatchObject({ taken: true, term: 3 });
    expect(ballots.lead(lead(2, 3), "a", 900).taken).toBe(false);
  });

  test("of a term below a failed vote is refused but recorded, and so is its RELEASE", () => {
    const ballots = new VoterState(EMPTY, 0);
    ballots.elect(elect(5, "x"), 0);
    expect(ballots.lead(lead(4, 1), "b", 10).taken).toBe(false);
    expect(ballots.sign("e", 20)).toMatchObject({ term: 4, ageMs: 10, released: false });
    expect(ballots.waitMs("e", 20)).toBe(0);
    ballots.release(release(4, 1, 500), "b", 30);
    expect(ballots.sign("e", 30)).toMatchObject({ term: 4, released: true });
    expect(ballots.waitMs("e", 30)).toBe(0);
    expect(ballots.termOf("e")).toBe(5);
  });

  test("blocks after a start as well, for the lease that was kept with its first acknowledgement", () => {
    const ballots = new VoterState(EMPTY, 0);
    ballots.lead(lead(4, 1), "a", 0);
    expect(ballots.version).toBe(1);
    ballots.lead(lead(4, 2), "a", 300);
    expect(ballots.version).toBe(1);
    const restarted = again(ballots, 400);
    expect(restarted.elect(elect(5, "y"), 1_399).granted).toBe(false);
    expect(restarted.elect(elect(5, "y"), 1_400).granted).toBe(true);
    expect(restarted.lead(lead(3, 9), "b", 1_400).taken).toBe(false);
  });

  test("with a shorter lease does not replace a longer lease that may still be valid", () => {
    const ballots = new VoterState(EMPTY, 0);
    ballots.lead(lead(1, 1, 5_000), "a", 0);
    ballots.lead(lead(2, 1), "b", 10);
    expect(again(ballots, 20).waitMs("e", 20)).toBe(5_000);
  });

  test("of an election that an intact file lacks is new: nothing blocks a vote", () => {
    const ballots = new VoterState({ ...EMPTY, elections: { other: { term: 3, votedFor: null, leaseDurationMs: 9_000 } } }, 0);
    expect(ballots.elect(elect(1, "x"), 0).granted).toBe(true);
  });
});

describe("a RELEASE", () => {
  test("lifts the block of its own term, and later LEADs of that term block no candidate", () => {
    const ballots = new VoterState(EMPTY, 0);
    ballots.lead(lead(1, 1), "a", 0);
    ballots.release(release(1, 2), "a", 10);
    expect(ballots.lead(lead(1, 2), "a", 20).taken).toBe(false);
    expect(ballots.elect(elect(2, "y"), 20).granted).toBe(true);
  });

  test("does not lift the block of a later term", () => {
    const ballots = new VoterState(EMPTY, 0);
    ballots.lead(lead(2, 1), "b", 0);
    ballots.release(release(1, 5), "a", 10);
    expect(ballots.waitMs("e", 10)).toBe(990);
  });

  test("blocks for its hold, once, also after a start", () => {
    const ballots = new VoterState(EMPTY, 0);
    ballots.lead(lead(1, 1), "a", 0);
    ballots.release(release(1, 1, 3_000), "a", 10);
    ballots.release(release(1, 1, 3_000), "a", 900);
    expect(ballots.waitMs("e", 1_000)).toBe(2_010);
    expect(again(ballots, 1_000).waitMs("e", 1_000)).toBe(3_000);
  });

  test.each([LEASE, 3_000])("of a term that was broken at once blocks for its hold of %i ms, also after a start", (holdMs) => {
    const ballots = new VoterState(EMPTY, 0);
    ballots.lead(lead(1, 1), "a", 0);
    ballots.break(breakOf(1, true), 5);
    ballots.release(release(1, 1, holdMs), "a", 10);
    expect(ballots.waitMs("e", 10)).toBe(holdMs);
    const restarted = again(ballots, 10);
    expect(restarted.waitMs("e", 10)).toBe(holdMs);
    expect(restarted.lead(lead(1, 2), "a", 10)).toMatchObject({ taken: false, broken: { reason: "why not" } });
    restarted.break(breakOf(1, true, 2), 20);
    expect(restarted.waitMs("e", 20)).toBe(0);
  });
});

test("a released lease does not block after a start, and counts for others no longer than the next one may be valid", () => {
  const ballots = new VoterState(EMPTY, 0);
  ballots.lead(lead(1, 1), "a", 0);
  expect(ballots.leases(0)).toEqual({ e: LEASE });
  ballots.release(release(1, 1), "a", 100);
  expect(again(ballots, 200).elect(elect(2, "x"), 200).granted).toBe(true);
  expect(again(ballots, 200).leases(200)).toEqual({ e: 0 });
  expect(ballots.leases(LEASE + 59_000)).toEqual({ e: LEASE });
  expect(ballots.leases(LEASE + 60_000)).toEqual({ e: 0 });
});

test("the term of the clock blocks votes up to it, and blocks no LEAD", () => {
  const ballots = new VoterState({ ...EMPTY, clockFloor: 100, isFresh: true }, 0);
  expect(ballots.elect(elect(100, "x"), 0)).toMatchObject({ granted: false, term: 100 });
  expect(ballots.lead(lead(7, 1), "a", 0).taken).toBe(true);
  expect(ballots.kept.isFresh).toBe(false);
});

describe("a BREAK", () => {
  test("ends only its own term: its LEADs are refused and not recorded, also after a start, and the block stays", () => {
    const ballots = new VoterState(EMPTY, 0);
    ballots.lead(lead(4, 1), "a", 0);
    expect(ballots.break(breakOf(3), 0).taken).toBe(false);
    expect(ballots.break(breakOf(5), 0).taken).toBe(false);
    expect(ballots.lead(lead(4, 2), "a", 100).taken).toBe(true);
    expect(ballots.break(breakOf(4), 200).taken).toBe(true);
    for (const voter of [ballots, again(ballots, 300)]) {
      expect(voter.lead(lead(4, 3), "a", 300)).toMatchObject({ taken: false, broken: { reason: "why not" } });
      expect(voter.waitMs("e", 300)).toBeGreaterThanOrEqual(800);
    }
    expect(ballots.sign("e", 300)).toMatchObject({ number: 2, broken: { reason: "why not" } });
    expect(ballots.lead(lead(5, 1), "b", 1_300).taken).toBe(true);
    expect(ballots.sign("e", 1_300)?.broken).toBeUndefined();
  });

  test("lifts a hold; an immediate break lifts the block as well, also after a start", () => {
    const held = new VoterState(EMPTY, 0);
    held.lead(lead(4, 1), "a", 0);
    held.release(release(4, 1, 60_000), "a", 10);
    held.break(breakOf(4), 20);
    expect([held.waitMs("e", 20), again(held, 30).waitMs("e", 30)]).toEqual([0, 0]);
    const led = new VoterState(EMPTY, 0);
    led.lead(lead(4, 1), "a", 0);
    led.break(breakOf(4, true), 20);
    expect([led.waitMs("e", 20), again(led, 30).waitMs("e", 30)]).toEqual([0, 0]);
    expect(led.leases(LEASE)).toEqual({ e: LEASE });
  });
});

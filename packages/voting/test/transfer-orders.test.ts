/** A voter with a transfer order votes for one candidate only, until the order has timed out. */
import { expect, test } from "vitest";
import { VoterState } from "../src/voter-state.ts";
import { again, breakOf, elect, EMPTY, lead, LEASE, release, transfer } from "./one-election.ts";

const TIMEOUT = 10_000;

/** A voter that knows of a leader of term 4, since time 0. */
function led(): VoterState {
  const ballots = new VoterState(EMPTY, 0);
  ballots.lead(lead(4, 1), "a", 0);
  return ballots;
}

/** Reports whether the voter would vote for each candidate in the next term. */
function votesFor(ballots: VoterState, nowMs: number, ...candidates: readonly string[]): readonly boolean[] {
  return candidates.map((id) => ballots.elect(elect(5, id, true, id), nowMs).granted);
}

test("a voter votes only for the named candidate, until the timeout after the lease", () => {
  const ballots = led();
  expect(ballots.transfer(transfer(4, "named"), 100)).toEqual({ kind: "TRANSFER", taken: true, term: 4 });
  expect(votesFor(ballots, LEASE - 1, "named", "other")).toEqual([false, false]);
  expect(votesFor(ballots, LEASE, "named", "other")).toEqual([true, false]);
  expect(ballots.waitMs("e", LEASE)).toBe(0);
  expect(ballots.elect(elect(5, "o", false, "other"), LEASE)).toMatchObject({ granted: false, waitMs: TIMEOUT });
  expect(votesFor(ballots, LEASE + TIMEOUT - 1, "other")).toEqual([false]);
  expect(votesFor(ballots, LEASE + TIMEOUT, "other")).toEqual([true]);
  expect(ballots.elect(elect(5, "n", false, "named"), LEASE)).toMatchObject({ granted: true });
});

test("the answer to each LEAD names the order, the LEAD is accepted, and the time counts from the last lease", () => {
  const ballots = led();
  expect(ballots.lead(lead(4, 2), "a", 50)).toEqual({ kind: "LEAD", taken: true, term: 4 });
  ballots.transfer(transfer(4, "named"), 100);
  const { kind: _, election: __, term: ___, afterBreak: ____, ...order } = transfer(4, "named");
  expect(ballots.lead(lead(4, 3), "a", 900)).toEqual({ kind: "LEAD", taken: true, term: 4, transfer: order });
  expect(votesFor(ballots, 1_899, "named")).toEqual([false]);
  expect(votesFor(ballots, 1_900, "named")).toEqual([true]);
  expect(votesFor(ballots, 1_900 + TIMEOUT - 1, "other")).toEqual([false]);
  expect(votesFor(ballots, 1_900 + TIMEOUT, "other")).toEqual([true]);
});

test("without a leader the time counts from the order, and the same order again does not restart it", () => {
  const ballots = led();
  ballots.release(release(4, 1), "a", 100);
  ballots.transfer(transfer(4, "named"), 5_000);
  expect(ballots.transfer({ ...transfer(4, "named"), timeoutMs: 20_000 }, 9_000).taken).toBe(true);
  expect(votesFor(ballots, 5_000 + TIMEOUT - 1, "named", "other")).toEqual([true, false]);
  expect(votesFor(ballots, 5_000 + TIMEOUT, "other")).toEqual([true]);
});

test("an order to another term is refused, and a vote or a LEAD of a newer term ends an order", () => {
  for (const [end, at] of [
    [(ballots: VoterState) => ballots.elect(elect(5, "n", false, "named"), LEASE), LEASE],
    [(ballots: VoterState) => ballots.lead(lead(5, 1), "b", 500), 500 + LEASE],
  ] as const) {
    const ballots = led();
    for (const term of [3, 5]) expect(ballots.transfer(transfer(term, "named"), 10).taken).toBe(false);
    ballots.transfer(transfer(4, "named"), 100);
    end(ballots);
    expect(ballots.transfer(transfer(4, "named"), at).taken).toBe(false);
    expect(ballots.elect(elect(6, "o", true, "other"), at).granted).toBe(true);
  }
  expect(new VoterState(EMPTY, 0).transfer(transfer(0, "named"), 0).taken).toBe(false);
});

test("the last order to arrive counts, also after a start", () => {
  const ballots = led();
  ballots.transfer(transfer(4, "first"), 0);
  expect(ballots.transfer(transfer(4, "second"), 0).taken).toBe(true);
  for (const voter of [ballots, again(ballots, 0)]) expect(votesFor(voter, LEASE, "first", "second")).toEqual([false, true]);
});

test("a break lifts a transfer, also after a start; a transfer given before the break is refused whenever it arrives", () => {
  for (const immediate of [false, true]) {
    const ballots = led();
    ballots.transfer(transfer(4, "named"), 10);
    expect(ballots.break(breakOf(4, immediate), 20).taken).toBe(true);
    expect(ballots.transfer(transfer(4, "named"), 30).taken).toBe(false);
    for (const voter of [ballots, again(ballots, 30)]) expect(votesFor(voter, 30 + LEASE, "other")).toEqual([true]);
  }
});

test("a transfer given after the break counts and does not end the break; the same break again does not lift it, another does", () => {
  for (const immediate of [false, true]) {
    const ballots = led();
    ballots.break(breakOf(4, immediate), 20);
    expect(ballots.transfer(transfer(4, "another", true), 40).taken).toBe(true);
    expect(ballots.break(breakOf(4, immediate), 50).taken).toBe(true);
    for (const voter of [ballots, again(ballots, 50)]) {
      expect(voter.lead(lead(4, 9), "a", 50)).toMatchObject({ taken: false, broken: { reason: "why not" } });
      expect(votesFor(voter, 50 + LEASE, "another", "other")).toEqual([true, false]);
    }
    expect(ballots.break(breakOf(4, immediate, 2), 60).taken).toBe(true);
    expect(votesFor(ballots, 60 + LEASE, "other")).toEqual([true]);
  }
});

test("a term that was broken at once stays so after another break", () => {
  const ballots = led();
  ballots.break(breakOf(4, true, 1), 10);
  ballots.break(breakOf(4, false, 2), 10);
  expect(ballots.sign("e", 10)).toMatchObject({ broken: { immediate: true } });
  expect(votesFor(ballots, 10, "other")).toEqual([true]);
});

test("the status names the candidate of a later vote while its claim may last, except if that term's leader was heard", () => {
  const ballots = led();
  ballots.transfer(transfer(4, "named"), 0);
  ballots.elect(elect(5, "n", true, "named"), LEASE);
  expect(ballots.sign("e", LEASE)).not.toHaveProperty("votedFor");
  ballots.elect(elect(5, "n", false, "named"), LEASE);
  expect(ballots.sign("e", LEASE + 9_999)).toMatchObject({ term: 4, votedFor: "named" });
  expect(ballots.sign("e", LEASE + 10_000)).not.toHaveProperty("votedFor");
  ballots.lead({ ...lead(5, 1), termId: "n" }, "c", LEASE + 50);
  expect(ballots.sign("e", LEASE + 60)).not.toHaveProperty("votedFor");
});

test("after a start the time counts anew, after the lease, and the status says that there was a leader", () => {
  const ballots = led();
  ballots.transfer(transfer(4, "named"), 0);
  const restarted = again(ballots, 9_000);
  expect(restarted.sign("e", 9_300)).toMatchObject({
    ...{ term: 4, number: 0, candidateId: "", released: false, ageMs: 300 },
    transfer: { candidateId: "named", leftMs: LEASE + TIMEOUT - 300 },
  });
  expect(votesFor(restarted, 9_000 + LEASE, "named", "other")).toEqual([true, false]);
  expect(votesFor(restarted, 9_000 + LEASE + TIMEOUT, "other")).toEqual([true]);
  // A late LEAD of an earlier term does not hide the order.
  restarted.lead(lead(3, 7), "b", 9_300);
  expect(restarted.sign("e", 9_300)?.term).toBe(4);
  const broken = led();
  broken.break(breakOf(4), 0);
  expect(again(broken, 100).sign("e", 100)).toMatchObject({ term: 4, broken: { reason: "why not" } });
  expect(again(led(), 100).sign("e", 100)).toBeUndefined();
});

test("a RELEASE carries the order to a voter without it: the time counts from then, once, and not after a later order", () => {
  const { kind: _, election: __, term: ___, afterBreak: ____, ...order } = transfer(4, "named");
  const released = { ...release(4, 1), transfer: order };
  const ballots = led();
  for (const at of [100, 5_000]) ballots.release(released, "a", at);
  expect(votesFor(ballots, 100, "named", "other")).toEqual([true, false]);
  expect(votesFor(ballots, 100 + TIMEOUT - 1, "other")).toEqual([false]);
  expect(votesFor(ballots, 100 + TIMEOUT, "other")).toEqual([true]);
  expect(votesFor(again(ballots, 200), 200 + LEASE, "named", "other")).toEqual([true, false]);

  const unheard = new VoterState(EMPTY, 0);
  unheard.release(released, "a", 100);
  expect(votesFor(unheard, 100, "named", "other")).toEqual([true, false]);

  const broken = led();
  broken.break(breakOf(4), 50);
  broken.release(released, "a", 100);
  expect(votesFor(broken, 100, "other")).toEqual([true]);

  const voted = led();
  voted.elect(elect(5, "x", false, "other"), LEASE);
  voted.release(released, "a", LEASE);
  expect(voted.elect(elect(6, "y", true, "other"), LEASE).granted).toBe(true);
});

test("a RELEASE with another order does not replace the order that the voter has", () => {
  const { kind: _, election: __, term: ___, afterBreak: ____, ...older } = transfer(4, "older");
  const ballots = led();
  ballots.transfer(transfer(4, "named"), 50);
  ballots.release({ ...release(4, 1), transfer: older }, "a", 100);
  expect(votesFor(ballots, 100, "named", "older")).toEqual([true, false]);
  expect(votesFor(again(ballots, 200), 200 + LEASE, "named", "older")).toEqual([true, false]);
});

test("a hold blocks the named candidate too, and the time counts from its end", () => {
  const ballots = led();
  ballots.release(release(4, 1, 3_000), "a", 0);
  ballots.transfer(transfer(4, "named"), 100);
  expect(votesFor(ballots, 2_999, "named")).toEqual([false]);
  expect(votesFor(ballots, 3_000, "named", "other")).toEqual([true, false]);
  expect(votesFor(ballots, 3_000 + TIMEOUT - 1, "other")).toEqual([false]);

  // The voter keeps a hold that is longer than the lease, and keeps the orders.
  const asked = led();
  asked.transfer(transfer(4, "named"), 0);
  asked.release(release(4, 1, 3_000), "a", 0);
  expect(votesFor(asked, 3_000, "named", "other")).toEqual([true, false]);
});

test("an election with a transfer order is not finished, so it is not dropped", () => {
  const ballots = led();
  ballots.transfer(transfer(4, "named", false, 600_000), 0);
  for (let index = 0; index < 1_000; index += 1) ballots.elect({ ...elect(2, "y"), election: `next${index}` }, LEASE);
  const nowMs = LEASE + 500_000;
  ballots.elect({ ...elect(2, "y"), election: "last" }, nowMs);
  expect(votesFor(ballots, nowMs, "other")).toEqual([false]);
  expect(ballots.kept.elections["e"]).toBeDefined();
});

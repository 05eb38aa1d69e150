/** The rounds of a claim, by their answers alone. */
import { describe, expect, test } from "vitest";
import { afterRound, beginClaim, COUNTING_MS, type Claim } from "../src/claim.ts";
import type { Acknowledgement, Vote } from "../src/messages.ts";
import type { PollResult } from "../src/poll.ts";

const REQUEST = { election: "e", candidateId: "c", leaseDurationMs: 3_000, renewIntervalMs: 1_000, timeoutMs: 300 };
const FACTS = { termId: "t", pace: { holdMs: 50, claimMs: 200 }, sign: { term: 4, number: 2 }, hasLed: true, hasFailed: false };
const ROUNDS = ["trial", "own vote", "votes", "LEAD"] as const;
const begun = beginClaim(REQUEST, FACTS);

/** Answers of three servers: a term that each of them has, and whether it grants. None if it has failed. */
function result(outcome: PollResult<unknown>["outcome"], ...terms: readonly number[]): PollResult<Vote | Acknowledgement> {
  const answers = terms.map((term, at): [string, Vote] => [`${at}`, { kind: "VOTE", granted: true, term, waitMs: 0 }]);
  return { outcome, answers: new Map(answers), failures: [new Error("lost")] };
}

const after = (claim: Claim, found: PollResult<Vote | Acknowledgement>, tookMs = 0, limits = {}) =>
  afterRound(claim, found, tookMs, { majority: 2, ...limits });
const at = (round: Claim["round"], hasFailed = false): Claim => ({ ...begun, round, elect: { ...begun.elect, hasFailed } });

test("a claim begins with a trial that names the last LEAD of its own server, and waits no longer than its time limit", () => {
  expect(begun).toMatchObject({ round: "trial", elect: { trial: true, heard: { term: 4, number: 2 }, hasLed: true } });
  expect(begun.elect).toMatchObject({ holdMs: 50, claimMs: 200, hasFailed: false });
  const hasty = beginClaim({ ...REQUEST, timeoutMs: 40 }, { ...FACTS, sign: undefined });
  expect(hasty.elect).toMatchObject({ holdMs: 10, claimMs: 120, heard: { term: 0, number: 0 } });
});

test("a claim asks for the trial, the own vote, the other votes and an acknowledged LEAD, in the term above all answers", () => {
  let claim: Claim = begun;
  for (const round of ROUNDS.slice(1)) {
    const next = after(claim, result("yes", 7, 9));
    expect(next).toMatchObject({ round, elect: { trial: false, term: 10, termId: "t" } });
    claim = next as Claim;
  }
  expect(after(claim, result("yes", 9, 9))).toEqual({ won: true });
});

describe.each(ROUNDS)("in the round %s", (round) => {
  test.each(["no", "open"] as const)("a majority that answers and does not grant loses the claim: %s", (outcome) => {
    for (const hasFailed of [false, true]) {
      // A lost trial leaves the flag as it was.
      const lost = { won: false, hasFailed: round !== "trial" || hasFailed };
      expect(after(at(round, hasFailed), result(outcome, 1, 1))).toMatchObject(lost);
    }
  });

  test("answers of a minority are no result", () => {
    const name = { trial: "a trial", "own vote": "ELECT", votes: "ELECT", LEAD: "LEAD" }[round];
    const message = `No majority of the servers has answered ${name} of 'e' in time. lost.`;
    expect(() => after(at(round), result("open", 1))).toThrow(message);
  });
});

test("votes do not count that a frozen process finds too late; a LEAD still does", () => {
  expect(after(at("votes"), result("yes", 1, 1), COUNTING_MS)).toMatchObject({ round: "LEAD" });
  expect(() => after(at("votes"), result("yes", 1, 1), COUNTING_MS + 1)).toThrow("No majority");
  expect(after(at("votes"), result("no", 1, 1), COUNTING_MS + 1)).toMatchObject({ won: false });
  expect(after(at("LEAD"), result("yes", 1, 1), COUNTING_MS + 1)).toEqual({ won: true });
});

test("a lost claim passes on the last votes of the other servers", () => {
  const claim = after(begun, result("yes", 7, 9)) as Claim;
  for (const lost of [after(begun, result("no", 7, 9)), after(claim, result("no"))]) {
    expect(lost).toMatchObject({ won: false, votes: result("no", 7, 9).answers });
  }
});

test("the term is minTerm at least, and is not claimed at or below aboveTerm, also if the trial is lost", () => {
  expect(after(begun, result("yes", 3, 3), 0, { minTerm: 9 })).toMatchObject({ elect: { term: 9 } });
  expect(after(begun, result("yes", 3, 3), 0, { minTerm: 2, aboveTerm: 3 })).toMatchObject({ elect: { term: 4 } });
  for (const outcome of ["yes", "no"] as const) {
    expect(() => after(begun, result(outcome, 3, 3), 0, { aboveTerm: 4 })).toThrow(
      expect.objectContaining({ code: "TERM_REGRESSED" }),
    );
  }
});

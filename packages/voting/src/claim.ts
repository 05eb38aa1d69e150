import { TermRegressedError, SAFETY_MARGIN, type AcquireRequest } from "@leasehold/core/provider";
import type { Acknowledgement, Elect, LeaderStatus, Vote } from "./messages.ts";
import type { Pace } from "./pace.ts";
import { unanswered, type PollResult } from "./poll.ts";
import { LONGEST_CLAIM_MS } from "./startup-recovery.ts";

/**
 * The time for which a claim counts votes. A later vote does not count, because its voter may have lost its disk and may vote
 * again.
 */
export const COUNTING_MS: number = LONGEST_CLAIM_MS * (1 - SAFETY_MARGIN);

/** A claim whose next round is `round`. The claim asks the voters for a round, and {@link afterRound} judges the result. */
export interface Claim {
  /** The trial changes nothing on any disk. The own server votes before the others. Votes without a LEAD give no lease. */
  readonly round: "trial" | "own vote" | "votes" | "LEAD";
  readonly elect: Elect;
  /** The answers to the last round in which other servers have voted. */
  readonly votes: ReadonlyMap<string, Vote>;
}

/** The end of a claim. The candidate's next claim passes `hasFailed` on. */
export type ClaimEnd =
  | { readonly won: true }
  | { readonly won: false; readonly hasFailed: boolean; readonly votes: ReadonlyMap<string, Vote> };

/** The facts by which a claim begins. */
export interface ClaimFacts {
  readonly termId: string;
  readonly pace: Pick<Pace, "holdMs" | "claimMs">;
  /** The last leader that the own server knows. The own server was that leader's if `hasLed` is true. */
  readonly sign: Pick<LeaderStatus, "term" | "number"> | undefined;
  readonly hasLed: boolean;
  /** The last claim of this server has failed, by its outcome or by an error. */
  readonly hasFailed: boolean;
}

export function beginClaim(request: AcquireRequest, { termId, pace, sign, hasLed, hasFailed }: ClaimFacts): Claim {
  const { election, candidateId, leaseDurationMs, timeoutMs } = request;
  const { term = 0, number = 0 } = sign ?? {};
  const elect: Elect = {
    ...{ kind: "ELECT", election, trial: true, term: Number.MAX_SAFE_INTEGER, termId, candidateId, leaseDurationMs },
    ...{ heard: { term, number }, hasLed, hasFailed },
    holdMs: Math.min(timeoutMs / 4, pace.holdMs),
    claimMs: Math.min(3 * timeoutMs, pace.claimMs),
  };
  return { round: "trial", elect, votes: new Map() };
}

/**
 * Judges the answers to a claim's round. Returns the claim with its next round, or its end.
 *
 * @param tookMs the time since the round's messages were sent.
 * @throws {StoreError} if no majority has answered.
 * @throws {TermRegressedError} if the new term is not above `aboveTerm`.
 */
export function afterRound(
  { round, elect, votes }: Claim,
  result: PollResult<Vote | Acknowledgement>,
  tookMs: number,
  { majority, minTerm = 1, aboveTerm = 0 }: { readonly majority: number } & Pick<AcquireRequest, "minTerm" | "aboveTerm">,
): Claim | ClaimEnd {
  const { outcome } = result;
  const isWon = outcome === "yes" && (round !== "votes" || tookMs <= COUNTING_MS);
  // A majority has answered, and has not granted. The claim does not wait for the others: they may be down.
  const isLost = outcome === "no" || (outcome === "open" && result.answers.size >= majority);
  const answers = round === "trial" || round === "votes" ? (result.answers as ReadonlyMap<string, Vote>) : votes;
  if (!isWon && !isLost) throw unanswered(elect.election, NAMES[round], result, false);
  if (round === "trial") {
    const term = Math.max(minTerm, ...[...answers.values()].map((vote) => vote.term + 1));
    if (term <= aboveTerm) throw new TermRegressedError(elect.election, term, aboveTerm);
    if (isWon) return { round: "own vote", elect: { ...elect, trial: false, term }, votes: answers };
  }
  // A lost trial says nothing about this server.
  if (isLost) return { won: false, hasFailed: round !== "trial" || elect.hasFailed, votes: answers };
  return round === "LEAD" ? { won: true } : { round: round === "own vote" ? "votes" : "LEAD", elect, votes: answers };
}

/** The rounds, as errors name them. */
const NAMES: Readonly<Record<Claim["round"], string>> = { trial: "a trial", "own vote": "ELECT", votes: "ELECT", LEAD: "LEAD" };

import { isLeaseholdError, StoreError, TermRegressedError, type LeaseholdError } from "@leasehold/core";
import {
  asSentence,
  holderElapsedMs,
  instantOf,
  SAFETY_MARGIN,
  sendRequest,
  type AcquireRequest,
} from "@leasehold/core/provider";
import { summarizeError } from "@leasehold/core/diagnostics";
import { LONGEST_CLAIM_MS } from "./startup-recovery.ts";
import type { VoterReply, Elect, Vote } from "./messages.ts";
import { isAnswerOf, poll, type PollResult } from "./poll.ts";
import { VotingTerm } from "./voting-term.ts";
import type { Server } from "./server.ts";

const isVote = isAnswerOf<Vote>("VOTE");
/**
 * The time for which a claim counts votes. A later vote does not count, because its voter may have lost its disk and may vote
 * again.
 */
const COUNTING_MS = LONGEST_CLAIM_MS * (1 - SAFETY_MARGIN);

/**
 * A term that a majority has voted for and acknowledged; or the votes of a lost claim. The candidate's next claim passes
 * `hasFailed` on.
 */
export type ClaimOutcome =
  | { readonly won: true; readonly votingTerm: VotingTerm }
  | { readonly won: false; readonly hasFailed: boolean; readonly votes: ReadonlyMap<string, Vote> };

/**
 * One attempt to be elected, in three round trips. The trial changes nothing on any disk. ELECT follows, with the vote of the own
 * server first. The first LEAD comes last. Votes without an acknowledged LEAD give no lease.
 *
 * @param hasFailed whether the last claim has failed, by its outcome or by an error.
 * @throws {StoreError} if no majority answers.
 * @throws {TermRegressedError} if the new term is not above `aboveTerm`.
 */
export async function claim(server: Server, request: AcquireRequest, hasFailed: boolean): Promise<ClaimOutcome> {
  const trial = trialOf(server, request, hasFailed);
  const granting = new Set<string>();
  let state: "under way" | "won" | "over" = "under way";
  const withdraw = (name: string): void => {
    server.ask(name, { ...trial, claimMs: 0 }, request.timeoutMs).catch(() => undefined);
  };
  const onGranted = (name: string): void => {
    if (state === "over") withdraw(name);
    else granting.add(name);
  };
  try {
    const outcome = await attempt(server, request, trial, onGranted);
    if (outcome.won) state = "won";
    return outcome;
  } finally {
    // Withdraw the claim, so that other claims do not wait for it.
    if (state === "under way") {
      state = "over";
      granting.forEach(withdraw);
    }
  }
}

function trialOf(
  server: Server,
  {
    election,
    candidateId,
    leaseDurationMs,
    timeoutMs,
  }: Pick<AcquireRequest, "election" | "candidateId" | "leaseDurationMs" | "timeoutMs">,
  hasFailed: boolean,
): Elect {
  const { ballots, clock, name, pace } = server;
  const { term = 0, number = 0 } = ballots.sign(election, clock.monotonicMs()) ?? {};
  return {
    kind: "ELECT",
    election,
    trial: true,
    term: Number.MAX_SAFE_INTEGER,
    termId: clock.randomUuid(),
    candidateId,
    leaseDurationMs,
    heard: { term, number },
    hasLed: ballots.lastLeader(election) === name,
    hasFailed,
    holdMs: Math.min(timeoutMs / 4, pace.holdMs),
    claimMs: Math.min(3 * timeoutMs, pace.claimMs),
  };
}

/** @param onGranted receives each server that grants the trial, also after the claim is over. */
async function attempt(
  server: Server,
  request: AcquireRequest,
  asked: Elect,
  onGranted: (name: string) => void,
): Promise<ClaimOutcome> {
  const { election, leaseDurationMs, timeoutMs, candidateId, value } = request;
  const { termId, hasFailed, holdMs } = asked;
  const { clock, pace } = server;
  // The disk of the own server may hang, like a network.
  const within = <T>(operation: string, act: () => Promise<T>): Promise<T> =>
    sendRequest({ clock, store: "voting", election, operation, timeoutMs, writes: true }, act);
  // A voter may have to finish another sync first.
  const graceMs = 2 * pace.answerMs;
  const trial = await poll(server, {
    request: asked,
    timeoutMs,
    graceMs: holdMs + pace.answerMs,
    isAnswer: isVote,
    isYes: isGranted,
    onAnswer: (name, { granted }) => void (granted && onGranted(name)),
  });
  const lost = isLost(server, trial);
  if (trial.outcome === "open" && !lost) throw unanswered(election, "a trial", trial, false);

  const term = Math.max(request.minTerm ?? 1, ...[...trial.answers.values()].map((vote) => vote.term + 1));
  const { aboveTerm = 0 } = request;
  if (term <= aboveTerm) throw new TermRegressedError(election, term, aboveTerm);
  if (lost) return { won: false, hasFailed, votes: trial.answers };
  const claimed: Elect = { ...asked, trial: false, term };
  const own = await within("ELECT", () => server.ask(server.name, claimed, timeoutMs));
  if (!isVote(own) || !own.granted) return { won: false, hasFailed: true, votes: trial.answers };
  const sentAt = instantOf(clock);
  const countingMs = Math.min(timeoutMs, COUNTING_MS);
  const ballot = await poll(server, { request: claimed, timeoutMs: countingMs, graceMs, isAnswer: isVote, isYes: isGranted });
  if (isLost(server, ballot)) return { won: false, hasFailed: true, votes: ballot.answers };
  // A frozen process may handle the votes before its timer, so the time is checked here as well.
  if (ballot.outcome === "open" || holderElapsedMs(clock, sentAt) > COUNTING_MS)
    throw unanswered(election, "ELECT", ballot, false);

  await within("remember", () => server.remember());
  const votingTerm = new VotingTerm(server, { election, term, termId, candidateId, leaseDurationMs }, value);
  const lead = await votingTerm.lead(timeoutMs, graceMs);
  if (lead.outcome === "yes") return { won: true, votingTerm };
  // Free the servers that have accepted the LEAD: this term has no leader.
  void votingTerm.release(0, timeoutMs);
  if (isLost(server, lead)) return { won: false, hasFailed: true, votes: ballot.answers };
  throw unanswered(election, "LEAD", lead, false);
}

/**
 * Claims a term for which no server votes. This changes nothing anywhere.
 *
 * @throws {StoreError} if no majority answers.
 */
export async function claimInVain(server: Server, election: string, timeoutMs: number): Promise<void> {
  const title = { election, term: 0, termId: "", candidateId: "", leaseDurationMs: 0 };
  const flags = { trial: false, hasLed: false, hasFailed: false };
  const request: Elect = { kind: "ELECT", ...title, ...flags, heard: { term: 0, number: 0 }, holdMs: 0, claimMs: 0 };
  const result = await poll(server, { request, timeoutMs, isAnswer: isVote, isYes: () => true });
  if (result.outcome !== "yes") throw unanswered(election, "ELECT", result, false);
}

/** Reports whether a majority has answered and the poll is not won. The claim does not wait for the others: they may be down. */
function isLost({ majority }: Server, { outcome, answers }: PollResult<VoterReply>): boolean {
  return outcome === "no" || (outcome === "open" && answers.size >= majority);
}

/** The error of a request that no majority has answered. */
export function unanswered(
  election: string,
  operation: string,
  { failures }: Pick<PollResult<VoterReply>, "failures">,
  mayHaveBeenApplied: boolean,
): LeaseholdError {
  // A wrong list of servers is a mistake rather than an outage.
  const misuse = failures.find((error) => isLeaseholdError(error, "CONFIGURATION"));
  if (misuse) return misuse;
  const reasons = failures.map((error) => summarizeError(error).message).join(" ");
  const message = asSentence(`No majority of the servers has answered ${operation} of '${election}' in time. ${reasons}`.trim());
  const details = { store: "voting", operation, election, mayHaveBeenApplied, cause: failures[0] };
  return new StoreError("STORE_UNAVAILABLE", message, details);
}

function isGranted({ granted }: Vote): boolean {
  return granted;
}

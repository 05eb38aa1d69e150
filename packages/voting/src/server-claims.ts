import { holderElapsedMs, instantOf, type AcquireRequest, type Instant } from "@leasehold/core/provider";
import { afterRound, beginClaim, COUNTING_MS, type Claim, type ClaimEnd } from "./claim.ts";
import type { Acknowledgement, Elect, LeaderStatus, Vote } from "./messages.ts";
import { isAnswerOf, poll, withinTime, type PollResult } from "./poll.ts";
import type { Server } from "./server.ts";
import { VotingTerm } from "./voting-term.ts";

/**
 * With more elections than this, the last claims are forgotten. They only decide when this server claims again, and which
 * candidate it prefers.
 */
const MOST_CLAIMS = 1_000;
/** The shortest wait after a lost claim, as a share of the claim's time. A random part of that time is added. */
const SHORTEST_PAUSE = 0.5;

/** A term that a majority has voted for and acknowledged; or the votes of a lost claim. */
export type ClaimOutcome = Extract<ClaimEnd, { won: false }> | WonClaim;

interface WonClaim {
  readonly won: true;
  readonly votingTerm: VotingTerm;
  readonly grantedAt: Instant;
}

const isVote = isAnswerOf<Vote>("VOTE");
const isGranted = ({ granted }: Vote): boolean => granted;

/** The claims of one server. Each election has one claim at a time, because two would take each other's votes. */
export class ServerClaims {
  readonly #server: Server;
  readonly #claiming = new Set<string>();
  /** The elections in which this server's last claim has failed without a refusal. */
  readonly #failed = new Set<string>();
  /** The earliest time for the next claim, by the votes of the last one. */
  readonly #nextMs = new Map<string, number>();

  constructor(server: Server) {
    this.#server = server;
  }

  isUnderWay(election: string): boolean {
    return this.#claiming.has(election);
  }

  /** The time until the next claim. At most zero if it may be made now. */
  waitMs(election: string): number {
    return (this.#nextMs.get(election) ?? 0) - this.#server.clock.monotonicMs();
  }

  /** Claims an election in which no claim of this server is under way. Throws what {@link afterRound} throws. */
  async claim(request: AcquireRequest): Promise<ClaimOutcome> {
    const { election } = request;
    const { clock } = this.#server;
    this.#claiming.add(election);
    const hadFailed = this.#failed.delete(election);
    const sentMs = clock.monotonicMs();
    let hasFailed = true;
    let hasWon = false;
    try {
      const outcome = await runClaim(this.#server, request, hadFailed);
      hasWon = outcome.won;
      hasFailed = !outcome.won && outcome.hasFailed;
      if (outcome.won) this.#nextMs.delete(election);
      else this.#pauses(election, outcome.votes, clock.monotonicMs() - sentMs);
      return outcome;
    } finally {
      if (this.#failed.size > MOST_CLAIMS) this.#failed.clear();
      if (hasFailed) this.#failed.add(election);
      // A won claim wakes the other candidates of this process, after the winner has heard of its win. A lost claim wakes none,
      // because its own campaign would begin again at once. It would then skip the random wait, which keeps two voters from
      // refusing each other for ever.
      clock.setTimer(() => {
        this.#claiming.delete(election);
        if (hasWon) this.#server.wake(election);
      }, 0);
    }
  }

  /**
   * Sets the time of the next claim. It waits until enough of the refusing voters are free again. If they are free already, other
   * candidates have claimed as well. Then losers wait at random, and a winner leads in two round trips.
   */
  #pauses(election: string, votes: ReadonlyMap<string, Vote>, tookMs: number): void {
    const { majority, everyone, clock } = this.#server;
    const refusing = [...votes.values()].filter(({ granted }) => !granted);
    const waits = refusing.map(({ sign, waitMs }) => (this.#isReleased(election, sign) ? 0 : waitMs));
    const needed = majority - (everyone.length - waits.length);
    const barredMs = waits.toSorted((one, other) => one - other)[Math.max(needed, 1) - 1] ?? 0;
    const waitMs = barredMs > 0 ? barredMs : tookMs * (SHORTEST_PAUSE + clock.random());
    if (this.#nextMs.size > MOST_CLAIMS) this.#nextMs.clear();
    this.#nextMs.set(election, clock.monotonicMs() + waitMs);
  }

  /** Reports whether a voter refuses for a leader whose RELEASE is on its way to it, as the own server knows. */
  #isReleased(election: string, sign: LeaderStatus | undefined): boolean {
    const own = this.#server.ballots.sign(election, this.#server.clock.monotonicMs());
    return own?.released === true && own.term === sign?.term && !sign.released;
  }
}

/** Makes one claim, and returns its outcome. A claim that is not won is withdrawn, so that other claims do not wait for it. */
async function runClaim(server: Server, request: AcquireRequest, hasFailed: boolean): Promise<ClaimOutcome> {
  const { election, timeoutMs, candidateId, leaseDurationMs, value } = request;
  const { ballots, clock, majority, name, pace } = server;
  const sign = ballots.sign(election, clock.monotonicMs());
  const hasLed = ballots.lastLeader(election) === name;
  let claim = beginClaim(request, { termId: clock.randomUuid(), pace, sign, hasLed, hasFailed });
  const withdrawal = { ...claim.elect, claimMs: 0 };
  const withdraw = (from: string): void => void server.ask(from, withdrawal, timeoutMs).catch(() => undefined);
  const granting = new Set<string>();
  let isWithdrawn = false;
  const onAnswer = (from: string, { granted }: Vote): void => {
    if (granted && isWithdrawn) withdraw(from);
    else if (granted) granting.add(from);
  };
  const votes = { isAnswer: isVote, isYes: isGranted };
  // A voter may have to finish another sync first.
  const graceMs = 2 * pace.answerMs;
  const trialMs = claim.elect.holdMs + pace.answerMs;
  let won: WonClaim | undefined;
  const rounds: Readonly<Record<Claim["round"], (elect: Elect) => Promise<PollResult<Vote | Acknowledgement>>>> = {
    trial: (elect) => poll(server, { ...votes, request: elect, timeoutMs, graceMs: trialMs, onAnswer }),
    "own vote": async (elect) => {
      // If the own disk hangs, another server has to claim soon. Until then, the voters that have granted the trial wait.
      const limits = { election, operation: "ELECT", timeoutMs: Math.min(timeoutMs, Math.max(timeoutMs / 4, graceMs)) };
      const own = await withinTime(server, limits, () => server.ask(name, elect, timeoutMs));
      return { outcome: isVote(own) && own.granted ? "yes" : "no", answers: new Map(), failures: [] };
    },
    votes: (elect) => poll(server, { ...votes, request: elect, timeoutMs: Math.min(timeoutMs, COUNTING_MS), graceMs }),
    LEAD: async ({ term, termId }) => {
      await withinTime(server, { ...request, operation: "remember" }, () => server.remember());
      const votingTerm = new VotingTerm(server, { election, term, termId, candidateId, leaseDurationMs }, value);
      const lead = await votingTerm.lead(timeoutMs, graceMs);
      // Free the servers that have accepted the LEAD: this term has no leader.
      if (lead.outcome !== "yes") void votingTerm.release(0, timeoutMs);
      else won = { won: true, votingTerm, grantedAt: votingTerm.grantedAt as Instant };
      return lead;
    },
  };
  try {
    for (;;) {
      const sentAt = instantOf(clock);
      const result = await rounds[claim.round](claim.elect);
      // A frozen process may handle the answers before its timer.
      const next = afterRound(claim, result, holderElapsedMs(clock, sentAt), { ...request, majority });
      if (!("won" in next)) claim = next;
      else return next.won ? (won as WonClaim) : next;
    }
  } finally {
    isWithdrawn = !won;
    if (isWithdrawn) granting.forEach(withdraw);
  }
}

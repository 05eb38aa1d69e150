import { type Clock, holderElapsedMs, SAFETY_MARGIN, sleep, type Instant } from "@leasehold/core/provider";
import { Absences, isTimeout, type Asked } from "./absences.ts";
import { compareBallots, forward, type Ballot, type Proposer } from "./ballot.ts";
import type { CallLimits } from "./call-limits.ts";
import { ageOf, topOf, type Chosen } from "./chosen.ts";
import { gather } from "./gather.ts";
import type { MemberState, Proposal, State } from "./member-state.ts";
import { isRefusal, MemberRequests, newestRoster, PASSED_OVER, REFUSED, refuseOthers } from "./member-requests.ts";
import type { MemberSession } from "./member-session.ts";
import type { Member } from "./member.ts";
import type { MembershipRules, Roster } from "./roster.ts";

/** The answers of the members to one read. */
export interface MemberReplies extends Asked {
  readonly kept: ReadonlyMap<string, MemberState>;
}

/** A ballot that a majority has promised, with the state of each of these members. */
export interface Prepared {
  readonly ballot: Ballot;
  /**
   * The roster that all writes of the round name, also if this process adopts another one meanwhile. A replacement store counts
   * once its record names it. By then a majority must name it too, so that a process with the former store learns of it.
   */
  readonly roster: Roster;
  readonly kept: ReadonlyMap<string, MemberState>;
}

/** The result of an accept: a majority has accepted the proposal, no member has, or the outcome is unknown. */
export type Accepted = "confirmed" | "refused" | "unknown";

/** The round that a member has to catch up with. */
interface CatchUp {
  readonly ballot: Ballot;
  readonly proposal: Proposal;
  /** Resolves with whether a majority has accepted it. */
  readonly confirmed: Promise<boolean>;
}

/** The most times that an accept is sent again to one member. */
const MOST_REPEATS = 2;

/** Runs the rounds of one process on one election's record: sends requests to the members, and judges their answers. */
export class Rounds {
  /** Reports the members that do not count. */
  readonly absences: Absences;
  readonly #election: string;
  readonly #clock: Clock;
  readonly #proposer: Proposer;
  readonly #requests: MemberRequests;
  readonly #majority: number;
  readonly #admission: MembershipRules;
  /** The write that this process last saw chosen. The write stays chosen, whichever members show it. */
  seen: string | undefined;
  /** The ballot of the last round. */
  #ballot: Ballot | undefined;
  /**
   * The proposal that the last round got chosen, with an instant before its nonce was sent. Set only if that proposal has a new
   * nonce, because only the holder of a lease writes one.
   */
  #leads: { readonly proposal: Proposal; readonly datedAt: Instant } | undefined;

  constructor(election: string, members: readonly Member[], proposer: Proposer, clock: Clock, admission: MembershipRules) {
    this.#election = election;
    this.#clock = clock;
    this.#proposer = proposer;
    this.#requests = new MemberRequests(election, members, clock, admission);
    this.#majority = (members.length + 1) / 2;
    this.#admission = admission;
    this.absences = new Absences(election, this.#requests.names, admission);
  }

  /**
   * The proposal that may be replaced without a prepare: the last round got it chosen, and its accept also promised the next
   * ballot. `undefined` once its lease has run out, because another candidate may have led since. One member may have missed that
   * leader's write, and another member may have forgotten it.
   */
  get leads(): Proposal | undefined {
    if (!this.#leads) return undefined;
    const { proposal, datedAt } = this.#leads;
    const isValid = holderElapsedMs(this.#clock, datedAt) < proposal.record.leaseDurationMs * (1 - SAFETY_MARGIN);
    return isValid ? proposal : undefined;
  }

  /**
   * Reads the members. A consistent read waits for every member, because one that has forgotten may be among the first answers.
   * @throws {StoreError} unless the states of a majority count.
   */
  async read(limits: CallLimits, consistent: boolean = true): Promise<MemberReplies> {
    const isEnough = (kept: ReadonlyMap<string, MemberState>): boolean => !consistent && this.isChosen(kept);
    const knownBefore = this.#requests.known();
    const requests = this.#requests.read(this.#requests.names, consistent, limits);
    const first = await gather(
      this.#clock,
      requests,
      limits.memberMs,
      (answers) => newestRoster(answers) <= this.#admission.roster.number && isEnough(this.#requests.counting(answers)),
    );
    refuseOthers(first.failures);
    await this.#admission.follow(newestRoster(first.answers), limits);
    const kept = this.#requests.counting(first.answers);
    // A member that shows a lower promise than was known before this read has forgotten. Another read of it would only take time.
    const hasForgotten = (name: string): boolean =>
      consistent && compareBallots(first.answers.get(name)?.promised, knownBefore[name]) < 0;
    const behind = [...first.answers.keys()].filter((name) => !kept.has(name) && !hasForgotten(name));
    const reading = { kept, ...first, memberMs: limits.memberMs };
    if (isEnough(kept)) {
      // The slowest member is never among these answers, although it is healthy. So late answers are reported as well. One that
      // does not count is ignored, because it may be out of date.
      const hear = (name: string, late: MemberState): void => {
        if (this.#requests.counting(new Map([[name, late]])).size > 0) this.absences.answered(name);
      };
      for (const [name, request] of requests) void request.then((late) => hear(name, late)).catch(() => undefined);
      return reading;
    }
    const last = behind.length === 0 ? reading : await this.#readAgain(behind, reading, limits);
    this.absences.report(last);
    if (last.kept.size < this.#majority) throw this.absences.unavailable(last);
    return last;
  }

  /**
   * Reads some members once more: a promise that another member reported may have been written after their answer. A member that
   * is still behind has forgotten, and counts as absent.
   */
  async #readAgain(names: readonly string[], first: MemberReplies, limits: CallLimits): Promise<MemberReplies> {
    const requests = this.#requests.read(names, true, limits);
    const { answers, failures } = await gather(this.#clock, requests, limits.memberMs);
    // A member that was written since may name a newer roster. In that roster, another store may have replaced one that has
    // answered.
    await this.#admission.follow(newestRoster(answers), limits);
    return {
      kept: this.#requests.counting(new Map([...first.kept, ...answers])),
      answers: new Map([...first.answers, ...answers]),
      failures: new Map([...first.failures, ...failures]),
      memberMs: limits.memberMs,
    };
  }

  /**
   * Makes all members of a read promise a ballot above every other. Returns `undefined` if one of them refuses, or if too few
   * promise; the caller then starts over. A promising member counts by the state that it had before. Some members count only
   * because all answer. Then all have to promise, because a silent member may accept another proposal. Members that have
   * forgotten promise last, because their promise makes them look like members that remember.
   */
  async prepare({ kept, answers }: MemberReplies, limits: CallLimits): Promise<Prepared | undefined> {
    const round = this.#requests.roundAbove(kept, this.#proposer.lastRound);
    this.#proposer.lastRound = round;
    const ballot = { round, proposer: this.#proposer.id };
    const { roster } = this.#admission;
    this.#begin(ballot);
    const seen = this.#requests.known();
    const top = topOf(kept)?.proposal;
    const [first, others] = [new Map<string, MemberState>(), new Map<string, MemberState>()];
    for (const [name, state] of answers) {
      if (kept.has(name) && this.#requests.sessions.get(name)?.isBehind(state) === false) first.set(name, state);
      else if (!top || this.#admission.isGivenUp(top) || this.#admission.mayTakeBack(name, top)) others.set(name, state);
    }
    const promised = new Map<string, MemberState>();
    const isMissing = (name: string): boolean => (first.has(name) || others.has(name)) && !promised.has(name);
    const present = (states: ReadonlyMap<string, MemberState>) => new Map([...states].filter(([name]) => !isMissing(name)));
    for (const asked of [first, others]) {
      const promise = (link: MemberSession): Promise<MemberState> => {
        const before = asked.get(link.member.name) as MemberState;
        const write = { state: { ...before, promised: ballot, seen }, present: before, roster };
        return this.#requests.write(link, write, limits);
      };
      const requests = this.#requests.all(promise, [...asked.keys()]);
      const gathered = await gather(this.#clock, requests, limits.memberMs);
      limits.signal.throwIfAborted();
      // Only a silent member counts as absent. A member that refuses has a changed state, which may be newer than all others.
      if ([...gathered.failures.values()].includes(REFUSED)) return undefined;
      for (const [name, state] of gathered.answers) promised.set(name, state);
      const counting = this.#admission.counting(present(kept), present(answers), true);
      const counted = new Map([...promised].filter(([name]) => counting.has(name)));
      if (counted.size >= this.#admission.needed(topOf(counted)?.proposal)) return { ballot, roster, kept: counted };
      const possible = this.#admission.counting(kept, answers, true);
      const isPossible = possible.size >= this.#admission.needed(topOf(possible)?.proposal);
      if (promised.size < first.size || !isPossible) return undefined;
    }
    return undefined;
  }

  /** Gets a proposal accepted without a prepare, under the ballot that the last accept also promised. */
  async acceptNext(proposal: Proposal, datedAt: Instant | undefined, limits: CallLimits): Promise<Accepted> {
    const targets = this.#requests.counting(this.#requests.own());
    if (!this.#ballot || targets.size < this.#majority) return "refused";
    const { roster } = this.#admission;
    return await this.accept({ ballot: forward(this.#ballot), roster, kept: targets }, proposal, datedAt, limits);
  }

  /**
   * Gets a proposal accepted under a ballot that a majority has promised. Returns once a majority has accepted. The other members
   * are brought up to date meanwhile, and afterwards.
   *
   * A member that refuses has a newer state. Another member that has accepted may have had that state too, and forgotten it. So a
   * refusal before the majority makes the outcome unknown. A later refusal makes the next write read all members.
   * @param datedAt an instant before the first send of the proposal's nonce. Undefined if the proposal keeps the replaced
   * record's nonce, and for a repair.
   */
  async accept(
    { ballot, roster, kept: targets }: Prepared,
    proposal: Proposal,
    datedAt: Instant | undefined,
    limits: CallLimits,
  ): Promise<Accepted> {
    const needed = this.#admission.needed(proposal);
    if (targets.size < needed) return "refused";
    this.#begin(ballot);
    this.#proposer.lastRound = Math.max(this.#proposer.lastRound, forward(ballot).round);
    const state: State = { promised: forward(ballot), accepted: ballot, proposal, seen: this.#requests.known() };
    const confirmed = Promise.withResolvers<boolean>();
    let isRefused = false;
    const onFailure = (failure: unknown): never => {
      isRefused ||= failure === REFUSED;
      if (isRefused && this.#ballot === ballot) this.#leads = undefined;
      throw failure;
    };
    const catchUp: CatchUp = { ballot, proposal, confirmed: confirmed.promise };
    const bring = async (link: MemberSession, target?: MemberState): Promise<void> => {
      let present = target ?? (await this.#toCatchUp(link, catchUp, limits));
      // An accept never creates a record. A delayed one could do so on a wiped store, which would then seem to have lost nothing.
      while (present.version === undefined) {
        const promise = { ...present, promised: ballot, seen: state.seen };
        await this.#requests.write(link, { state: promise, present, roster }, limits).catch(onFailure);
        present = await this.#toCatchUp(link, catchUp, limits);
      }
      const write = { state, present, roster, redates: datedAt !== undefined };
      const own = await this.#requests.write(link, write, limits).catch(onFailure);
      if (this.#ballot === ballot) link.own = own;
      this.absences.answered(link.member.name);
    };
    // If a request is lost, its member lacks this round. The next member that is emptied may be one that has the round. So the
    // request is sent again while there is time. The pause and the limit serve for a member whose every request fails at once.
    const mayTryAgain = async (failure: unknown): Promise<boolean> => {
      if (!isTimeout(failure) || !(await confirmed.promise)) return false;
      const pauseMs = (limits.memberMs / 4) * (0.5 + this.#clock.random());
      if (this.#clock.monotonicMs() + pauseMs >= limits.untilMs - limits.memberMs / 2) return false;
      await sleep(this.#clock, pauseMs, limits.signal).catch(() => undefined);
      return this.#ballot === ballot && !limits.signal.aborted;
    };
    const requests = this.#requests.all(async (link) => {
      for (let repeats = 0; ; repeats += 1) {
        try {
          return await bring(link, repeats === 0 ? targets.get(link.member.name) : undefined);
        } catch (failure) {
          if (repeats < MOST_REPEATS && (await mayTryAgain(failure))) continue;
          if (!isRefusal(failure)) this.absences.failed(link.member.name, failure);
          throw failure;
        }
      }
    });
    const { answers, failures } = await gather(this.#clock, requests, limits.memberMs, ({ size }) => size >= needed);
    const isConfirmed = answers.size >= needed && !isRefused;
    confirmed.resolve(isConfirmed);
    if (isConfirmed) this.seen = proposal.write;
    limits.signal.throwIfAborted();
    // A repair may write another process's proposal, and an administrator's order is not a holder's write. Both come without
    // `datedAt`.
    if (isConfirmed && datedAt) this.#leads = { proposal, datedAt };
    else if (failures.size === requests.size && [...failures.values()].every(isRefusal)) return "refused";
    return isConfirmed ? "confirmed" : "unknown";
  }

  /**
   * Sends to each member a write whose condition must fail. Returns the name of a member that carried it out; `undefined` if none
   * did.
   */
  async probe(ifVersion: string, limits: CallLimits): Promise<string | undefined> {
    const requests = this.#requests.all((link) =>
      this.#requests.send(link, limits, (timeoutMs) =>
        link.member.refuses(this.#election, ifVersion, this.#admission.roster, { timeoutMs, signal: limits.signal }),
      ),
    );
    const { answers, failures } = await gather(this.#clock, requests, limits.memberMs);
    const reading = { kept: answers, answers: new Map<string, never>(), failures, memberMs: limits.memberMs };
    if (answers.size < this.#majority) throw this.absences.unavailable(reading);
    return [...answers].find(([, refused]) => !refused)?.[0];
  }

  /** Reports whether a member has acknowledged to this process that it accepted this ballot. */
  hasAcknowledged(name: string, ballot: Ballot | undefined): boolean {
    const own = this.#requests.sessions.get(name)?.own;
    return own?.accepted !== undefined && compareBallots(own.accepted, ballot) === 0;
  }

  /** Returns how long ago, in milliseconds, any member first showed a proposal's nonce to this process. */
  knownForMs({ record }: Proposal): number {
    return Math.max(...[...this.#requests.sessions.values()].map((link) => link.knownForMs(record.nonce)));
  }

  /** Returns the chosen proposal. Valid only if {@link isChosen} is true of the same states. */
  chosen(kept: ReadonlyMap<string, MemberState>): Chosen | undefined {
    const proposal = topOf(kept)?.proposal;
    if (!proposal) return undefined;
    return { proposal, ageMs: ageOf(proposal, kept, this.#majority), knownForMs: this.knownForMs(proposal) };
  }

  /** Reports whether a majority has accepted the highest ballot that any member has accepted. A claim needs all members. */
  isChosen(kept: ReadonlyMap<string, MemberState>): boolean {
    const top = topOf(kept);
    const showing = [...kept.values()].filter(({ accepted }) => compareBallots(accepted, top?.accepted) === 0);
    return showing.length >= this.#admission.needed(top?.proposal);
  }

  /**
   * Reads a member that gave no answer, or has lost its state, so that the next accept can replace that state. A member that
   * has lost its state is admitted again only once the other members have confirmed the round. These are at least N - majority
   * + 1 members, so they share one with every majority that included this member.
   */
  async #toCatchUp(link: MemberSession, { ballot, proposal, confirmed }: CatchUp, limits: CallLimits): Promise<MemberState> {
    const { name } = link.member;
    // A slow member gets half of the time that is left.
    const nowMs = this.#clock.monotonicMs();
    const untilMs = nowMs + Math.max(limits.memberMs, (limits.untilMs - nowMs) / 2);
    const present = await link.send(this.#election, Math.min(untilMs, limits.untilMs), (timeoutMs) =>
      this.#requests.get(link, true, limits, timeoutMs),
    );
    // If there is a newer roster, the next round must begin with a read.
    if (present.roster > this.#admission.roster.number && (await confirmed)) this.#leads = undefined;
    const counts = this.#requests.counting(new Map([[name, present]])).size > 0;
    const mayTakeBack = this.#admission.mayTakeBack(name, proposal);
    if (!counts || !mayTakeBack) this.absences.answered(name, counts ? undefined : present);
    if (!mayTakeBack || (!counts && !(await confirmed))) throw PASSED_OVER;
    // The member has forgotten a promise above this round. The member counts again once a round goes above that promise.
    if (!counts && compareBallots(link.known, forward(ballot)) > 0) this.#leads = undefined;
    if (compareBallots(present.promised, ballot) <= 0) {
      link.blockedBy = undefined;
      return present;
    }
    // The proposer of this promise may be dead. If the promise is found twice, or a newer proposal was accepted, the next round
    // goes above it.
    const isInTheWay = compareBallots(present.promised, link.blockedBy) === 0 || compareBallots(present.accepted, ballot) > 0;
    if (isInTheWay && (await confirmed)) this.#leads = undefined;
    link.blockedBy = present.promised;
    throw PASSED_OVER;
  }

  /**
   * Begins a new round. Forgets the states that the last round wrote, so that this round uses only those that its caller has
   * taken already.
   */
  #begin(ballot: Ballot): void {
    this.#leads = undefined;
    this.#ballot = ballot;
    for (const link of this.#requests.sessions.values()) link.own = undefined;
  }
}

import { isLeaseholdError, type Clock } from "@leasehold/core";
import { holderElapsedMs, SAFETY_MARGIN, sleep, type Instant } from "@leasehold/core/provider";
import { Absences, isTimeout } from "./absences.ts";
import { compareBallots, forward, highest, type Ballot } from "./ballot.ts";
import type { CallLimits } from "./call-limits.ts";
import { ageOf, topOf, type Chosen } from "./chosen.ts";
import { gather } from "./gather.ts";
import type { Kept, Proposal, State } from "./kept.ts";
import { Link } from "./link.ts";
import type { Member } from "./member.ts";
import type { Admission } from "./roster.ts";

/** Who proposes: one per store instance. */
export interface Proposer {
  readonly id: string;
  /** The last round of any election: none is used twice. */
  lastRound: number;
}

/** What the members keep, as far as they have answered. */
export interface Reading {
  /** Of those that count. */
  readonly kept: ReadonlyMap<string, Kept>;
  /** Of all, also of those that do not count. */
  readonly answers: ReadonlyMap<string, Kept>;
  readonly failures: ReadonlyMap<string, unknown>;
  /** The time that each had for each request. */
  readonly memberMs: number;
}

/** A ballot that a majority has promised, with what each of them keeps. */
export interface Prepared {
  readonly ballot: Ballot;
  readonly kept: ReadonlyMap<string, Kept>;
}

/** What has become of an accept: a majority has it, or no member has, or nobody knows. */
export type Accepted = "confirmed" | "refused" | "unknown";

/** A round that a member is to be caught up with. */
interface CatchUp {
  readonly ballot: Ballot;
  readonly proposal: Proposal;
  /** Whether a majority has it. */
  readonly confirmed: Promise<boolean>;
}

/** How often an accept is sent to one member again. */
const MOST_REPEATS = 2;
/** A write's condition has failed. */
const REFUSED = new Error("Somebody else has written there.");
/** A member is not given a write, by what it was found to keep. */
const PASSED_OVER = new Error("It keeps what this write may not replace.");
/** The rounds of one process on one election's record: what it asks of the members, and what it makes of their answers. */
export class Rounds {
  /** What is said of members that do not count. */
  readonly absences: Absences;
  readonly #election: string;
  readonly #clock: Clock;
  readonly #proposer: Proposer;
  readonly #links: ReadonlyMap<string, Link>;
  readonly #majority: number;
  readonly #admission: Admission;
  /** The write that this process has last seen chosen: it is that for ever, whoever shows it. */
  seen: string | undefined;
  /** The ballot of the last round. */
  #ballot: Ballot | undefined;
  /** What that round has had chosen, where it has a nonce of its own, and from before that was sent: who holds a lease has written it. */
  #leads: { readonly proposal: Proposal; readonly datedAt: Instant } | undefined;

  constructor(election: string, members: readonly Member[], proposer: Proposer, clock: Clock, admission: Admission) {
    this.#election = election;
    this.#clock = clock;
    this.#proposer = proposer;
    this.#links = new Map(members.map((member) => [member.name, new Link(member, clock)]));
    this.#majority = (members.length + 1) / 2;
    this.#admission = admission;
    this.absences = new Absences(election, [...this.#links.keys()], admission);
  }

  /**
   * What may be replaced without a prepare: the last round has had it chosen, and has promised the next ballot. Once its lease has
   * run out somebody else may have led, whom one member has missed and another one has forgotten.
   */
  get leads(): Proposal | undefined {
    if (!this.#leads) return undefined;
    const { proposal, datedAt } = this.#leads;
    const isValid = holderElapsedMs(this.#clock, datedAt) < proposal.record.leaseDurationMs * (1 - SAFETY_MARGIN);
    return isValid ? proposal : undefined;
  }

  async read(limits: CallLimits, consistent: boolean, isEnough: (kept: ReadonlyMap<string, Kept>) => boolean): Promise<Reading> {
    const ask = (names: readonly string[], isConsistent: boolean): Map<string, Promise<Kept>> =>
      this.#all((link) => this.#send(link, limits, (timeoutMs) => this.#get(link, isConsistent, limits, timeoutMs)), names);
    const knownBefore = new Map([...this.#links].map(([name, { known }]) => [name, known]));
    const requests = ask([...this.#links.keys()], consistent);
    const first = await gather(
      this.#clock,
      requests,
      limits.memberMs,
      (answers) => this.#newestRoster(answers) <= this.#admission.roster.number && isEnough(this.#counting(answers)),
    );
    refuseOthers(first.failures);
    await this.#admission.follow(this.#newestRoster(first.answers), limits);
    const kept = this.#counting(first.answers);
    // One that shows less than was known before it was asked has forgotten: to ask again would take the call its time.
    const hasForgotten = (name: string): boolean =>
      consistent && compareBallots(first.answers.get(name)?.promised, knownBefore.get(name)) < 0;
    const behind = [...first.answers.keys()].filter((name) => !kept.has(name) && !hasForgotten(name));
    const { memberMs } = limits;
    if (isEnough(kept)) {
      // The slowest member is never among them, though it is well: it is heard, too.
      for (const [name, request] of requests) void request.then((late) => this.#hear(name, late)).catch(() => undefined);
      return { kept, ...first, memberMs };
    }
    if (behind.length === 0) {
      const reading = { kept, ...first, memberMs };
      this.absences.report(reading);
      return reading;
    }
    // What was read before it was known that the member has promised more may have been written since: it is read again.
    // One that is behind even then has forgotten, and counts as absent.
    const again = await gather(this.#clock, ask(behind, true), limits.memberMs, () => false);
    // One that was written since may say that another store has come in place of one of those that have answered.
    await this.#admission.follow(this.#newestRoster(again.answers), limits);
    const reading = {
      kept: this.#counting(new Map([...kept, ...again.answers])),
      answers: new Map([...first.answers, ...again.answers]),
      failures: new Map([...first.failures, ...again.failures]),
      memberMs,
    };
    this.absences.report(reading);
    return reading;
  }

  /** Has all members that have answered promise a ballot above every other: all of them, or it starts over. */
  async prepare({ kept }: Reading, limits: CallLimits): Promise<Prepared | undefined> {
    const ballot = this.#above(kept);
    this.#begin(ballot);
    const seen = this.#seen();
    const requests = this.#all(
      (link) => {
        const present = kept.get(link.member.name) as Kept;
        return this.#write(link, { ...present, promised: ballot, seen }, present, false, limits);
      },
      [...kept.keys()],
    );
    const { answers, failures } = await gather(this.#clock, requests, limits.memberMs, () => false);
    limits.signal.throwIfAborted();
    // Only silence is absence. One that refuses has something else by now, which may be newer than all the rest.
    const isRefused = [...failures.values()].includes(REFUSED);
    const promised = this.#counting(answers, ballot);
    return isRefused || promised.size < this.#majority ? undefined : { ballot, kept: promised };
  }

  /** Has a proposal accepted without a prepare, under the ballot that the last accept has promised. */
  async acceptNext(proposal: Proposal, datedAt: Instant | undefined, limits: CallLimits): Promise<Accepted> {
    const targets = this.#counting(new Map([...this.#links].flatMap(([name, { own }]) => (own ? [[name, own] as const] : []))));
    if (!this.#ballot || targets.size < this.#majority) return "refused";
    return await this.accept({ ballot: forward(this.#ballot), kept: targets }, proposal, datedAt, limits);
  }

  /**
   * Has members accept a proposal under a ballot that a majority has promised; done when a majority has. The others are
   * caught up meanwhile, and afterwards. One that refuses has something newer: another one that has accepted may have had
   * that, too, and forgotten it. So a refusal that comes first voids the majority, and one that comes later has the next
   * write read all.
   * @param datedAt before the first send of the proposal's nonce; undefined where it is of what this replaces, or of a repair.
   */
  async accept(
    { ballot, kept: targets }: Prepared,
    proposal: Proposal,
    datedAt: Instant | undefined,
    limits: CallLimits,
  ): Promise<Accepted> {
    this.#begin(ballot);
    this.#proposer.lastRound = Math.max(this.#proposer.lastRound, forward(ballot).round);
    const state: State = { promised: forward(ballot), accepted: ballot, proposal, seen: this.#seen() };
    const confirmed = Promise.withResolvers<boolean>();
    let isRefused = false;
    const onFailure = (failure: unknown): never => {
      isRefused ||= failure === REFUSED;
      if (isRefused && this.#ballot === ballot) this.#leads = undefined;
      throw failure;
    };
    const catchUp: CatchUp = { ballot, proposal, confirmed: confirmed.promise };
    const bring = async (link: Link, target?: Kept): Promise<void> => {
      let present = target ?? (await this.#toCatchUp(link, catchUp, limits));
      // Where an accept made a record, one that arrives late would have a store that was emptied since pass for what it was.
      while (present.version === undefined) {
        await this.#write(link, { ...present, promised: ballot, seen: state.seen }, present, false, limits).catch(onFailure);
        present = await this.#toCatchUp(link, catchUp, limits);
      }
      const own = await this.#write(link, state, present, datedAt !== undefined, limits).catch(onFailure);
      if (this.#ballot === ballot) link.own = own;
      this.absences.answered(link.member.name, true);
    };
    // A request that is lost costs a member this round, and then the next one may be emptied: it is sent again while there is time.
    // A member may fail at once, and go on to: hence the pause, and the limit.
    const mayTryAgain = async (failure: unknown): Promise<boolean> => {
      if (!isTimeout(failure) || !(await confirmed.promise)) return false;
      const pauseMs = (limits.memberMs / 4) * (0.5 + this.#clock.random());
      if (this.#clock.monotonicMs() + pauseMs >= limits.untilMs - limits.memberMs / 2) return false;
      await sleep(this.#clock, pauseMs, limits.signal).catch(() => undefined);
      return this.#ballot === ballot && !limits.signal.aborted;
    };
    const requests = this.#all(async (link) => {
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
    const { answers, failures } = await gather(this.#clock, requests, limits.memberMs, ({ size }) => size >= this.#majority);
    const isConfirmed = answers.size >= this.#majority && !isRefused;
    confirmed.resolve(isConfirmed);
    if (isConfirmed) this.seen = proposal.write;
    limits.signal.throwIfAborted();
    // A repair may be another's write, and an order goes with no lease.
    if (isConfirmed && datedAt) this.#leads = { proposal, datedAt };
    else if (failures.size === requests.size && [...failures.values()].every(isRefusal)) return "refused";
    return isConfirmed ? "confirmed" : "unknown";
  }

  /** Sends to each member a write whose condition must fail. Returns the name of one that has carried it out. */
  async probe(ifVersion: string, limits: CallLimits): Promise<string | undefined> {
    const requests = this.#all((link) =>
      this.#send(link, limits, (timeoutMs) =>
        link.member.refuses(this.#election, ifVersion, this.#admission.roster, { timeoutMs, signal: limits.signal }),
      ),
    );
    const { answers, failures } = await gather(this.#clock, requests, limits.memberMs, () => false);
    const reading = { kept: answers, answers, failures, memberMs: limits.memberMs };
    if (answers.size < this.#majority) throw this.absences.unavailable(reading, false);
    return [...answers].find(([, refused]) => !refused)?.[0];
  }

  /** Reports whether a member has acknowledged to this process that it has accepted this ballot. */
  hasAcknowledged(name: string, ballot: Ballot | undefined): boolean {
    const own = this.#links.get(name)?.own;
    return own?.accepted !== undefined && compareBallots(own.accepted, ballot) === 0;
  }

  /** Whether somebody else's round may be under way: a ballot was promised that is not the one which goes with an accept. */
  isUnderWay({ kept }: Reading): boolean {
    const accepted = topOf(kept)?.accepted;
    const promised = highest([...kept.values()].map((one) => one.promised));
    const isOwn = promised?.proposer === this.#proposer.id;
    return !isOwn && compareBallots(promised, accepted && forward(accepted)) > 0;
  }

  /** How long ago any member first showed a proposal's nonce to this process. */
  knownForMs({ record }: Proposal): number {
    return Math.max(...[...this.#links.values()].map((link) => link.knownForMs(record.nonce)));
  }

  /** What was chosen, where {@link isChosen} says so. */
  chosen(kept: ReadonlyMap<string, Kept>): Chosen | undefined {
    const proposal = topOf(kept)?.proposal;
    if (!proposal) return undefined;
    return { proposal, ageMs: ageOf(proposal, kept, this.#majority), knownForMs: this.knownForMs(proposal) };
  }

  /** Whether a majority shows the highest ballot that any member shows. */
  isChosen(kept: ReadonlyMap<string, Kept>): boolean {
    const top = topOf(kept)?.accepted;
    return [...kept.values()].filter(({ accepted }) => compareBallots(accepted, top) === 0).length >= this.#majority;
  }

  demandMajority(reading: Reading, mayHaveBeenApplied: boolean): void {
    if (reading.kept.size < this.#majority) throw this.absences.unavailable(reading, mayHaveBeenApplied);
  }

  /**
   * Reads a member that was silent, or has forgotten: what it keeps is what the accept may replace. One that has forgotten is
   * taken back only once the round is confirmed by the others: these are N - majority + 1 at least, and so have one in
   * common with whatever majority it was in.
   */
  async #toCatchUp(link: Link, { ballot, proposal, confirmed }: CatchUp, limits: CallLimits): Promise<Kept> {
    const { name } = link.member;
    // A slow member has half of the time that is left.
    const nowMs = this.#clock.monotonicMs();
    const untilMs = nowMs + Math.max(limits.memberMs, (limits.untilMs - nowMs) / 2);
    const present = await link.send(this.#election, Math.min(untilMs, limits.untilMs), (timeoutMs) =>
      this.#get(link, true, limits, timeoutMs),
    );
    // The next round reads who the members are by now.
    if (present.roster > this.#admission.roster.number && (await confirmed)) this.#leads = undefined;
    if (!this.#admission.mayTakeBack(name, proposal)) {
      this.absences.answered(name, this.#counting(new Map([[name, present]])).size > 0);
      throw PASSED_OVER;
    }
    const counts = this.#counting(new Map([[name, present]])).size > 0;
    if (!counts) this.absences.answered(name, false);
    if (!counts && !(await confirmed)) throw PASSED_OVER;
    // It has promised more than this round brings it, and forgotten that: it counts again once a round goes above it.
    if (!counts && compareBallots(link.known, forward(ballot)) > 0) this.#leads = undefined;
    if (compareBallots(present.promised, ballot) <= 0) {
      link.blockedBy = undefined;
      return present;
    }
    // Whoever has this promise may be dead: where it is met twice, the next round goes above it. What was accepted is newer.
    const isInTheWay = compareBallots(present.promised, link.blockedBy) === 0 || compareBallots(present.accepted, ballot) > 0;
    if (isInTheWay && (await confirmed)) this.#leads = undefined;
    link.blockedBy = present.promised;
    throw PASSED_OVER;
  }

  async #get(link: Link, consistent: boolean, { signal }: CallLimits, timeoutMs: number): Promise<Kept> {
    const { member } = link;
    const kept = member.get(this.#election, consistent, { timeoutMs, signal }).then((shown) => {
      link.observe(shown);
      return shown;
    });
    return await this.#admission.meet(member.name, kept, { timeoutMs, signal });
  }

  /** Of some answers those that count: of the quorum's stores, as far as they have not forgotten. */
  #counting(answers: ReadonlyMap<string, Kept>, ballot?: Ballot): ReadonlyMap<string, Kept> {
    for (const [name, kept] of answers) this.#learn(name, kept);
    const remembering = [...answers].filter(([name, kept]) => this.#links.get(name)?.isBehind(kept) === false);
    return this.#admission.counting(new Map(remembering), answers, ballot);
  }

  /** Reports a member that counts; an answer that says less may be older than what is known by now. */
  #hear(name: string, kept: Kept): void {
    if (this.#counting(new Map([[name, kept]])).size > 0) this.absences.answered(name, true);
  }

  #newestRoster(answers: ReadonlyMap<string, Kept>): number {
    return Math.max(0, ...[...answers.values()].map(({ roster }) => roster));
  }

  async #write(link: Link, state: State, present: Kept, redates: boolean, limits: CallLimits): Promise<Kept> {
    const { signal } = limits;
    const kept = await this.#send(link, limits, (timeoutMs) =>
      link.member.put(this.#election, state, this.#admission.roster, present, redates, { timeoutMs, signal }),
    );
    if (!kept) throw REFUSED;
    this.#learn(link.member.name, kept);
    return kept;
  }

  async #send<T>(link: Link, { signal, untilMs, memberMs }: CallLimits, request: (timeoutMs: number) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    return await link.send(this.#election, Math.min(untilMs, this.#clock.monotonicMs() + memberMs), request);
  }

  #all<T>(request: (link: Link) => Promise<T>, names: readonly string[] = [...this.#links.keys()]): Map<string, Promise<T>> {
    return new Map(names.map((name) => [name, request(this.#links.get(name) as Link)]));
  }

  /** A new round: nothing that the last one has written may be gone by, but what its callers have taken already. */
  #begin(ballot: Ballot): void {
    this.#leads = undefined;
    this.#ballot = ballot;
    for (const link of this.#links.values()) link.own = undefined;
  }

  #learn(name: string, { promised, seen }: Kept): void {
    this.#links.get(name)?.learn(promised);
    for (const [other, ballot] of Object.entries(seen)) this.#links.get(other)?.learn(ballot);
  }

  #seen(): Record<string, Ballot> {
    return Object.fromEntries([...this.#links].flatMap(([name, { known }]) => (known ? [[name, known]] : [])));
  }

  #above(kept: ReadonlyMap<string, Kept>): Ballot {
    const top = highest([
      ...[...kept.values()].map(({ promised }) => promised),
      ...[...this.#links.values()].map(({ known }) => known),
    ]);
    const round = Math.max(top?.round ?? 0, this.#proposer.lastRound) + 1;
    this.#proposer.lastRound = round;
    return { round, proposer: this.#proposer.id };
  }
}

function isRefusal(failure: unknown): boolean {
  return failure === REFUSED || failure === PASSED_OVER;
}

/** Of two lists of members each would have a majority of its own: that is no failure of one member. */
function refuseOthers(failures: ReadonlyMap<string, unknown>): void {
  for (const failure of failures.values()) if (isLeaseholdError(failure, "CONFIGURATION")) throw failure;
}

import { ConfigurationError } from "@leasehold/core";
import { type Clock, instantOf, isStoreError, sleep, type LeaseRecord } from "@leasehold/core/provider";
import { compareBallots, type Ballot, type Proposer } from "./ballot.ts";
import type { CallLimits } from "./call-limits.ts";
import { isUnderWay, topOf, type Chosen } from "./chosen.ts";
import type { Proposal } from "./member-state.ts";
import type { Member } from "./member.ts";
import type { MembershipRules } from "./roster.ts";
import { Rounds, type MemberReplies } from "./rounds.ts";

/**
 * The longest first pause, in milliseconds, before a round goes above a rival's promise, or before a split is read again. The
 * pause is random. During one read, each further pause is twice as long.
 */
const LONGEST_PAUSE_MS = 100;

/** The result of a `put`. */
export type Outcome = { readonly stored: true } | { readonly stored: false; readonly current: Chosen | undefined };

/**
 * Replicates one election's record: a compare-and-swap register made of compare-and-swap registers (CASPaxos, D. Rystsov,
 * https://arxiv.org/abs/1802.07000). A proposal that a majority has accepted under one ballot is chosen. Every later chosen
 * proposal has replaced it, directly or through other proposals. `test/programs/model` checks these rules in every state; the
 * model's steps have the names of the steps here.
 */
export class Register {
  readonly #clock: Clock;
  readonly #proposer: Proposer;
  readonly #rounds: Rounds;
  readonly #admission: MembershipRules;
  /** Members that may show a write although a failover can still undo it. */
  readonly #undurable: ReadonlySet<string>;
  #turn: Promise<void> = Promise.resolve();

  constructor(election: string, members: readonly Member[], proposer: Proposer, clock: Clock, admission: MembershipRules) {
    this.#clock = clock;
    this.#proposer = proposer;
    this.#admission = admission;
    this.#rounds = new Rounds(election, members, proposer, clock, admission);
    const undurable = members.filter(({ records }) => records.capabilities.showsUndurable);
    this.#undurable = new Set(undurable.map(({ name }) => name));
  }

  /**
   * Returns the last chosen proposal; `undefined` if none was chosen. If the members stay split through a pause, the result is as
   * follows:
   *
   * - A get that does not complete the split returns the record that the newest write would replace.
   * - A get that completes the split repeats the newest write, and returns that write. If this fails, it returns the replaced
   *   record.
   * - If no member shows the replaced record, any get completes the split.
   * - Any get returns a claim that is given up.
   *
   * No get returns a record that this process has seen replaced.
   * @param completes whether a split is completed.
   */
  async get(consistent: boolean, limits: CallLimits, completes: boolean = consistent): Promise<Chosen | undefined> {
    let before: Ballot | undefined;
    for (let times = 0; ; times += 1) {
      const reading = await this.#rounds.read(limits, consistent);
      const top = topOf(reading.kept);
      if (this.#rounds.isChosen(reading.kept)) {
        this.#rounds.seen = top?.proposal?.write;
        return this.#rounds.chosen(reading.kept);
      }
      if (top?.proposal && compareBallots(before, top.accepted) === 0) {
        if (this.#admission.isGivenUp(top.proposal)) return { proposal: top.proposal };
        const { write, base } = top.proposal;
        const answer = write === this.#rounds.seen ? write : base;
        const found = [...reading.kept.values()].find(({ proposal }) => proposal?.write === answer)?.proposal;
        const isKnown = answer === null || found !== undefined;
        // The age is left out, because the newer write may have been chosen.
        const passed = found && { proposal: found };
        if (isKnown && !completes) return passed;
        const completed = await this.#inTurn(limits, () => this.#complete(limits));
        if (completed) return this.#known(completed);
        if (isKnown) return passed;
      }
      before = top?.accepted;
      await this.#pause(limits, false, 2 ** times);
    }
  }

  /** Replaces `proposal.base`, if that is the last chosen write. @param redates whether the proposal has a new nonce. */
  async put(proposal: Proposal, redates: boolean, limits: CallLimits): Promise<Outcome> {
    const rounds = this.#rounds;
    return await this.#inTurn(limits, async () => {
      let sent = false;
      let hasWaited = false;
      // Read before the first send, because other processes count from when they first see the nonce.
      const datedAt = redates ? instantOf(this.#clock) : undefined;
      const { leads } = rounds;
      if (leads?.write === proposal.base && continues(leads.record, proposal.record)) {
        const accepted = await rounds.acceptNext(withTimestamp(proposal, leads), datedAt, limits);
        if (accepted === "confirmed") return { stored: true };
        sent = accepted === "unknown";
      }
      for (;;) {
        const reading = await this.#readAfter(sent, limits);
        const top = topOf(reading.kept)?.proposal;
        // An undurable member may lose what a read shows. So no read decides the outcome of a write that was sent. The register
        // repeats the shown write, and judges by the result. A claim that is given up is never repeated.
        const isToRepeat = sent && this.#undurable.size > 0;
        const isGivenUp = top?.write !== proposal.write && this.#admission.isGivenUp(top);
        const isDecided = isGivenUp || (rounds.isChosen(reading.kept) && !isToRepeat);
        if (isDecided && (top?.write ?? null) !== proposal.base) return this.#judge(proposal, top, sent);
        if (!hasWaited && isUnderWay(reading.kept, this.#proposer.id)) {
          hasWaited = true;
          await this.#pause(limits, sent);
          continue;
        }
        const prepared = await this.#rounds.prepare(reading, limits);
        if (prepared) {
          const found = topOf(prepared.kept)?.proposal;
          const isOurs = (found?.write ?? null) === proposal.base || found?.write === proposal.write;
          const value = isOurs ? withTimestamp(proposal, found) : this.#admission.isGivenUp(found) ? undefined : found;
          const accepted = value && (await rounds.accept(prepared, value, isOurs ? datedAt : undefined, limits));
          if (isOurs && accepted === "confirmed") return { stored: true };
          sent ||= isOurs && accepted !== "refused";
          if (value && accepted === "confirmed") return this.#judge(proposal, value, sent);
        }
        await this.#pause(limits, sent);
      }
    });
  }

  /**
   * Makes one member, and a majority with it, show the last chosen proposal.
   * @param check throws if the chosen proposal is not the one to show.
   */
  async show(name: string, check: (chosen: Proposal | undefined) => void, limits: CallLimits): Promise<void> {
    const rounds = this.#rounds;
    await this.#inTurn(limits, async () => {
      for (;;) {
        const reading = await rounds.read(limits);
        const top = topOf(reading.kept);
        if (rounds.isChosen(reading.kept)) {
          check(top?.proposal);
          const isShown = compareBallots(reading.kept.get(name)?.accepted, top?.accepted) === 0;
          if (isShown && (!this.#undurable.has(name) || rounds.hasAcknowledged(name, top?.accepted))) return;
        }
        // A member that is silent cannot be repaired now.
        if (reading.answers.has(name)) await this.#repair(reading, limits);
        const why = reading.kept.has(name) ? "it keeps another record." : rounds.absences.whyMissing(reading, name);
        await this.#pause(limits, false, 1, `${name} has not shown this leadership for the whole time: ${why}`);
      }
    });
  }

  /** Proves the right to write, by writes that must fail. @throws unless a majority has refused them. */
  async probe(ifVersion: string, limits: CallLimits): Promise<void> {
    const carriedOut = await this.#rounds.probe(ifVersion, limits);
    if (carriedOut === undefined) return;
    throw new ConfigurationError(`${carriedOut} has carried out a write whose condition cannot have held.`);
  }

  /** Completes the newest write, whichever process sent it. Returns its proposal, or `undefined` if that fails. */
  async #complete(limits: CallLimits): Promise<Proposal | undefined> {
    const rounds = this.#rounds;
    const reading = await rounds.read(limits);
    if (rounds.isChosen(reading.kept)) return topOf(reading.kept)?.proposal;
    return await this.#repair(reading, limits);
  }

  /** Repeats the newest write under a new ballot. Returns its proposal if a majority has accepted it. */
  async #repair(reading: MemberReplies, limits: CallLimits): Promise<Proposal | undefined> {
    const rounds = this.#rounds;
    const prepared = await rounds.prepare(reading, limits);
    const top = prepared && topOf(prepared.kept)?.proposal;
    if (!prepared || !top || this.#admission.isGivenUp(top)) return undefined;
    const accepted = await rounds.accept(prepared, top, undefined, limits);
    return accepted === "confirmed" ? top : undefined;
  }

  /** Reads the members. If that fails after a write was sent, the error says that the write may have been applied. */
  async #readAfter(sent: boolean, limits: CallLimits): Promise<MemberReplies> {
    try {
      return await this.#rounds.read(limits);
    } catch (error) {
      if (!sent || !isStoreError(error)) throw error;
      throw this.#rounds.absences.error(error.code, error.message, true, error);
    }
  }

  /**
   * Returns the result of a put, from the write that was chosen: the put's own, or another one.
   * @throws {StoreError} `STORE_CONFLICT` if later writes hide whether a write that was sent was applied.
   */
  #judge(proposal: Proposal, chosen: Proposal | undefined, sent: boolean): Outcome {
    if (chosen?.write === proposal.write) return { stored: true };
    if (!sent || chosen?.base === proposal.base) return { stored: false, current: this.#known(chosen) };
    const message = "Others have written since, so it is unknown whether this write was applied before them.";
    throw this.#rounds.absences.error("STORE_CONFLICT", message, true);
  }

  #known(proposal: Proposal | undefined): Chosen | undefined {
    return proposal && { proposal, knownForMs: this.#rounds.knownForMs(proposal) };
  }

  /** Runs the rounds of one process one after another. */
  async #inTurn<T>({ signal }: CallLimits, work: () => Promise<T>): Promise<T> {
    const before = this.#turn;
    const turn = Promise.withResolvers<void>();
    this.#turn = turn.promise;
    try {
      await before;
      signal.throwIfAborted();
      return await work();
    } finally {
      turn.resolve();
    }
  }

  async #pause(
    { signal, untilMs, memberMs }: CallLimits,
    mayHaveBeenApplied: boolean,
    times = 1,
    why = "The members were found split, or written by others, for the whole time.",
  ): Promise<void> {
    const pauseMs = (0.2 + 0.8 * this.#clock.random()) * Math.min(LONGEST_PAUSE_MS, memberMs / 2);
    await sleep(this.#clock, times * pauseMs, signal);
    if (this.#clock.monotonicMs() < untilMs) return;
    throw this.#rounds.absences.error("STORE_TIMEOUT", why, mayHaveBeenApplied);
  }
}

/**
 * Reports whether a write continues or ends a term that this process holds. Such a write needs no prepare, because no other
 * process takes over during the lease. A write that begins a term does need a prepare. Another write may have followed this
 * process's last one. One member may have missed that write, and another member may have forgotten it.
 */
function continues(before: LeaseRecord, record: LeaseRecord): boolean {
  return before.termId !== null && before.term === record.term;
}

/** Gives a proposal that keeps the replaced proposal's nonce also that proposal's wall-clock time, if there is one. */
function withTimestamp(proposal: Proposal, found: Proposal | undefined): Proposal {
  return { ...proposal, wallMs: proposal.wallMs ?? found?.wallMs };
}

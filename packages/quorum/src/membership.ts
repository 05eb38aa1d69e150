import { ConfigurationError, isLeaseholdError, StoreError, type StoreErrorCode } from "@leasehold/core";
import { type Clock, isStoreError, Journal } from "@leasehold/core/provider";
import type { Proposer } from "./ballot.ts";
import { repeatCall, ROUND_TRIPS, withinCall, type CallLimits } from "./call-limits.ts";
import { NOTHING, type MemberState, type Proposal } from "./member-state.ts";
import { CONNECT_TIMEOUT_MS } from "./overdue-reads.ts";
import type { Member, MemberLimits } from "./member.ts";
import { MemberStates } from "./member-states.ts";
import { refuseTwins } from "./options.ts";
import { Register } from "./register.ts";
import { MARKER, replaced, ROSTER, rosterOf, rosterRecord, type MembershipRules, type Roster } from "./roster.ts";
import { rosterRules } from "./roster-rules.ts";
import { StoreMarkers } from "./store-markers.ts";
import { WrongStoreCheck } from "./wrong-store-check.ts";

/** One process tries to take in emptied stores for this time, in milliseconds. Its next write starts a new attempt. */
const HEALING_MS = 10_000;

const REPLACEMENT =
  "its store was emptied or is new, and has nothing of this election yet: it counts once the others have written it.";

/**
 * Keeps track of which stores the members are. Each store has a marker, which identifies it. The quorum has a record, the roster,
 * which lists the markers that count. So a majority of these stores can be distinguished from a majority of other stores. The
 * markers are written to all stores before any other record. A store without a marker was emptied, or is new; the other members
 * take it in.
 */
export class Membership implements MembershipRules {
  /** The members that count, as far as this process knows. */
  readonly states: MemberStates;
  readonly #members: ReadonlyMap<string, Member>;
  readonly #register: Register;
  readonly #rosterRules: MembershipRules;
  readonly #clock: Clock;
  /** Writes name this roster before there is a first one. */
  readonly #nobody: Roster;
  #roster: Roster | undefined;
  /** The claim that the last read has shown: one that all members have accepted, or one that is given up. */
  #claim: Proposal | undefined;
  readonly #markers: StoreMarkers;
  readonly #strangers: WrongStoreCheck;
  #isHealing = false;
  /** The founding of the quorum, while it is under way in this process. */
  #founding: Promise<void> | undefined;

  /** @param members the stores of leases. @param journal receives a warning of a member whose store is not the quorum's. */
  constructor(members: readonly Member[], proposer: Proposer, clock: Clock, journal: Journal = Journal.to(false)) {
    this.#members = new Map(members.map((member) => [member.name, member]));
    this.#clock = clock;
    const incarnations = Object.fromEntries(members.map(({ name }) => [name, ""]));
    this.#nobody = { number: 0, incarnations, later: [], past: [] };
    this.#markers = new StoreMarkers(this.#members, clock, this.#nobody);
    this.#strangers = new WrongStoreCheck(members, this.#markers.shown, this.#markers.rosters);
    this.states = new MemberStates(members, clock, journal);
    this.#rosterRules = rosterRules({
      markers: this.#markers,
      nobody: this.#nobody,
      members: members.length,
      whyAbsent: (name, answer) => this.whyAbsent(name, answer),
    });
    this.#register = new Register(ROSTER, members, proposer, clock, this.#rosterRules);
  }

  get roster(): Roster {
    return this.#roster ?? this.#nobody;
  }

  /** Reads the roster, once. Returns false if no roster was ever written. */
  async load(limits: CallLimits): Promise<boolean> {
    // A read of any majority suffices. If those members are split over the roster, the read completes it, because no later write
    // does so.
    return this.#roster !== undefined || (await this.#ask(false, limits)) !== undefined;
  }

  /**
   * Does what {@link load} does. If there is no roster yet, writes the markers to all members, then the claim, and then the first
   * roster. These writes continue when the call has no time left, because they need more time than a call has if members are
   * slow.
   */
  async found(limits: CallLimits): Promise<void> {
    if (await this.load(limits)) return;
    this.#founding ??= this.#found().finally(() => {
      this.#founding = undefined;
    });
    await withinCall(this.#clock, limits, this.#founding, () => unfounded("STORE_TIMEOUT", this.#markers.silent(), "Try again."));
  }

  async #found(): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + ROUND_TRIPS * CONNECT_TIMEOUT_MS;
    // Any other error, such as a member's refusal, is thrown at once, because a person has to act.
    const isLost = (error: unknown): boolean =>
      isLeaseholdError(error, "STORE_TIMEOUT") || isLeaseholdError(error, "STORE_CONFLICT");
    await repeatCall(this.#clock, untilMs, isLost, async (limits) => await this.#tryToFound(limits));
  }

  async #tryToFound(limits: CallLimits): Promise<void> {
    // Does not read again once the roster is known: a silent member would delay that read.
    while (!this.#roster && !(await this.#read(true, limits))) {
      const isOwn = this.#claim && !this.#rosterRules.isGivenUp(this.#claim);
      const claim = isOwn ? this.#claim : await this.#claimStores(this.#claim, limits);
      if (claim) await this.#propose({ ...rosterOf(claim), number: 1, later: [] }, claim.write, limits);
    }
  }

  /**
   * Marks all stores, and claims the quorum for them. Returns the claim, or undefined if it was not chosen.
   * @param givenUp the claim to replace, if there is one.
   */
  async #claimStores(givenUp: Proposal | undefined, limits: CallLimits): Promise<Proposal | undefined> {
    const marking = [...this.#members.keys()].map(async (name) => [name, await this.#markFirst(name, limits)] as const);
    const marked = await Promise.all(marking);
    refuseTwins(marked);
    const former = givenUp && rosterOf(givenUp);
    const isLater = ([name, marker]: readonly [string, string]): boolean =>
      former !== undefined && (former.later.includes(name) || former.incarnations[name] !== marker);
    const later = marked.filter(isLater).map(([name]) => name);
    const incarnations = Object.fromEntries(marked);
    const claimed = [...this.#markers.rosters].flatMap(([, one]) => Object.values(one.incarnations));
    const past = [...new Set(claimed)].filter((marker) => !Object.values(incarnations).includes(marker));
    return await this.#propose({ number: 0, incarnations, later, past }, givenUp?.write ?? null, limits);
  }

  async meet(name: string, answer: Promise<MemberState>, limits: MemberLimits): Promise<MemberState> {
    const kept = await answer;
    if (kept.accepted && this.#isIn(name)) return kept;
    // An emptied store has no marker, or a new one. A record on it may come from a delayed promise, and proves nothing.
    await this.#markers.lookAt(name, limits);
    // A record without an accepted value does not prove that its roster is the newest. A majority of replacement stores may have
    // only such records. So the store's own copy of the roster counts as well.
    const number = this.#isIn(name) ? this.#markers.rosterNumber(name) : 0;
    return { ...kept, roster: Math.max(kept.roster, number) };
  }

  async follow(number: number, limits: CallLimits): Promise<void> {
    if (number <= this.roster.number) return;
    await this.#ask(true, limits);
    if (number <= this.roster.number) return;
    // With an older roster, or none, answers of other stores would count, but writes to these stores would not.
    throw this.#unknownMembers("STORE_UNAVAILABLE");
  }

  /**
   * A replacement store starts empty. Ignore its promises and its lack of an accepted value unless every member answers. An
   * accepted value counts if its writer's roster named this store.
   */
  counting(answers: ReadonlyMap<string, MemberState>): ReadonlyMap<string, MemberState> {
    const { number, incarnations, later } = this.roster;
    if (number === 0) return answers;
    const members = [...answers].filter(([name]) => this.#isIn(name));
    const isAll = members.length === this.#members.size;
    return new Map(
      members.filter(([name, { accepted, incarnation }]) =>
        accepted ? incarnation === incarnations[name] : isAll || !later.includes(name),
      ),
    );
  }

  needed(): number {
    return (this.#members.size + 1) / 2;
  }

  isGivenUp(): boolean {
    return false;
  }

  mayTakeBack(name: string): boolean {
    return this.#isIn(name);
  }

  /**
   * Takes in stores that were emptied or are new, and gives the roster to members that have missed it. The work continues in the
   * background for {@link HEALING_MS}. Lost requests are repeated, because another store may be emptied before the next write.
   */
  heal(): void {
    if (this.#isHealing || this.#lacking().length === 0) return;
    this.#isHealing = true;
    void this.#heal().finally(() => {
      this.#isHealing = false;
    });
  }

  /**
   * Takes in one member's store now. The store may be one that this quorum replaced earlier, restored from a backup. None of its
   * records count then.
   * @throws {ConfigurationError} if the quorum has not begun, or if the store is another member's or another quorum's.
   */
  async takeIn(name: string, limits: CallLimits): Promise<void> {
    const roster = await this.#read(true, limits);
    if (!roster) throw new ConfigurationError("This quorum has not begun: its first write takes all members in.");
    const { version, proposal } = await this.#markers.lookAt(name, { signal: limits.signal, timeoutMs: limits.memberMs });
    if (version !== undefined && proposal && this.#strangers.isStranger(name, this.#roster)) {
      if (!this.roster.past.includes(proposal.write)) {
        throw new ConfigurationError(`The member ${name} is not taken in: ${this.whyAbsent(name)}`);
      }
      await this.#markers.writeMarker(name, { ...NOTHING, version }, limits);
    }
    await this.#takeIn([name], limits);
    if (!this.#isIn(name)) throw this.#unknownMembers("STORE_CONFLICT");
  }

  async #heal(): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + HEALING_MS;
    const work = async (limits: CallLimits): Promise<void> => {
      await this.#takeIn(this.#lacking(), limits);
      if (this.#lacking().length > 0) throw this.#unknownMembers("STORE_CONFLICT");
    };
    // After a failure the next write begins again; `members()` names the members that do not count.
    await repeatCall(this.#clock, untilMs, () => true, work).catch(() => undefined);
  }

  /** Returns the members that have to be taken in, or that lack the roster, as far as they have answered. */
  #lacking(): readonly string[] {
    const lacks = (name: string): boolean => this.#isIn(name) && this.#markers.rosterNumber(name) < this.roster.number;
    return [...this.#markers.shown].flatMap(([name, marker]) => (this.#isNew(name, marker) || lacks(name) ? [name] : []));
  }

  /** @throws {ConfigurationError} if the store of one member was given under another one's name. */
  refuseOthers(): void {
    this.#strangers.refuse(this.#roster);
  }

  report(name: string, election: string, why: string | undefined, isSilent: boolean): void {
    if (why === undefined) this.states.counts(name, election);
    else this.states.lacks(name, election, why, isSilent);
  }

  whyAbsent(name: string, answer?: MemberState): string | undefined {
    const isNew = answer !== undefined && !answer.accepted && this.#isIn(name) && this.roster.later.includes(name);
    const why = this.#strangers.whyAbsent(name, this.#roster) ?? (answer && this.#strangers.whyClaimed(name, this.#roster));
    return why ?? (isNew ? REPLACEMENT : undefined);
  }

  /**
   * Reports whether a store has no marker, or a marker that is in no roster. The process that wrote such a marker may have
   * stopped before it wrote the roster.
   */
  #isNew(name: string, marker: string | null): boolean {
    return marker === null || (marker !== this.roster.incarnations[name] && !this.#strangers.isStranger(name, this.#roster));
  }

  #isIn(name: string): boolean {
    return this.#markers.shown.get(name) === this.roster.incarnations[name];
  }

  async #takeIn(names: readonly string[], limits: CallLimits): Promise<void> {
    for (const name of names) {
      const marker = await this.#markers.mark(name, limits);
      const roster = await this.#read(true, limits);
      if (roster && this.#isNew(name, marker)) await this.#propose(replaced(this.roster, name, marker), roster.write, limits);
      // No other write brings the roster to this store. If another store is emptied, this copy may be needed to identify the
      // members.
      if (this.#isIn(name)) await this.#register.show(name, () => undefined, limits);
    }
  }

  async #markFirst(name: string, limits: CallLimits): Promise<string> {
    try {
      return await this.#markers.mark(name, limits);
    } catch (cause) {
      if (!isStoreError(cause)) throw cause;
      throw unfounded(cause.code, [name], cause.message, cause);
    }
  }

  /**
   * Reads the roster. The read continues when the call has no time left. If the members are split over a roster and one is
   * silent, the read completes the roster, which takes longer than a call. The next call finds the result.
   */
  async #ask(consistent: boolean, limits: CallLimits): Promise<Proposal | undefined> {
    const { memberMs, signal } = limits;
    signal.throwIfAborted();
    const ownUntilMs = this.#clock.monotonicMs() + 2 * ROUND_TRIPS * memberMs;
    const ownLimits = { signal: new AbortController().signal, untilMs: ownUntilMs, memberMs };
    const reading = this.#read(consistent, ownLimits, true);
    return await withinCall(this.#clock, limits, reading, () => this.#unknownMembers("STORE_TIMEOUT"));
  }

  async #read(consistent: boolean, limits: CallLimits, completes = consistent): Promise<Proposal | undefined> {
    const found = await this.#register.get(consistent, limits, completes);
    const roster = found && rosterOf(found.proposal);
    const isClaim = roster?.number === 0;
    this.#claim = isClaim ? found?.proposal : undefined;
    if (!roster || isClaim) return undefined;
    this.#take(roster);
    return found.proposal;
  }

  /** Returns the proposal if it was chosen. */
  async #propose(roster: Roster, base: string | null, limits: CallLimits): Promise<Proposal | undefined> {
    const proposal = { write: this.#clock.randomUuid(), base, record: rosterRecord(roster) };
    const { stored } = await this.#register.put(proposal, true, limits);
    if (!stored) return undefined;
    this.#take(roster);
    return proposal;
  }

  #unknownMembers(code: StoreErrorCode): StoreError {
    const details = { store: "quorum", operation: "get", election: ROSTER, mayHaveBeenApplied: false };
    const told = [...this.#members.keys()].flatMap((name) => {
      const why = this.#strangers.whyClaimed(name, this.#roster);
      return why === undefined ? [] : [`${name}: ${why}`];
    });
    const message = ["The members that answer do not agree on which stores are the members.", ...told].join(" ");
    return new StoreError(code, message, details);
  }

  #take(roster: Roster): void {
    if (roster.number <= (this.#roster?.number ?? 0)) return;
    this.#roster = roster;
    // A store that showed a past marker may have been emptied and taken in since. Its marker is read again at its next answer.
    for (const [name, marker] of this.#markers.shown)
      if (marker !== null && roster.past.includes(marker)) this.#markers.shown.forget(name);
  }
}

function unfounded(code: StoreErrorCode, missing: readonly string[], next: string, cause?: unknown): StoreError {
  const why =
    missing.length > 0 ? `${missing.join(" and ")} does not answer, so that nothing is written` : "it is not written yet";
  const details = { store: "quorum", operation: "put", election: MARKER, mayHaveBeenApplied: false, cause };
  return new StoreError(code, `A quorum begins with all of its members: ${why}. ${next}`, details);
}

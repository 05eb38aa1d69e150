import { LONGEST_CLAIM_MS } from "./startup-recovery.ts";
import type { Acknowledgement, Break, Elect, Lead, Release, LeaderStatus, Transfer, Vote } from "./messages.ts";
import type { Ballot, StoredVoterState } from "./voter-state-codec.ts";

/** A voter's state of one election that is not on its disk. It begins anew at each start. */
interface Memory {
  barredUntilMs: number;
  holdUntilMs: number;
  /** The time at which the transfer order arrived. */
  orderedMs: number;
  /** This voter's last vote. */
  vote?: { readonly term: number; readonly candidateId: string; readonly atMs: number };
  /** The value of `VoterState.version` after the last change of this election that must be on the disk. */
  version: number;
  lead?: LastLead | undefined;
}

/** The last leader that this voter knows. Its LEADs and its RELEASE came from `server`. */
interface LastLead extends Omit<LeaderStatus, "ageMs" | "holdMs"> {
  readonly termId: string;
  readonly heardMs: number;
  readonly server: string;
}

/** The number of finished elections whose ballots are kept. Of all dropped ones only the highest term is kept, as `floor`. */
const KEPT_ELECTIONS = 1_000;
/** An election is finished after this time without a blocker or a vote. A leader's last LEAD or a claim may come until then. */
const GRACE_MS = 60_000;
/** A ballot with a higher term is never dropped, because every later term must be above the terms of dropped ballots. */
export const HIGHEST_DROPPED_TERM: number = 2 ** 52;

/**
 * The rules by which one server votes: a state machine without input or output. The caller passes the time of a monotonic clock,
 * and writes each change to the disk before it sends an answer.
 */
export class VoterState {
  readonly #ballots: Map<string, Ballot>;
  readonly #memories = new Map<string, Memory>();
  readonly #startMs: number;
  #floor: number;
  readonly #clockFloor: number;
  #isFresh: boolean;
  /** Rises with each change that must be written to the disk. */
  version = 0;
  /** The value of `version` when a ballot was last dropped. */
  #droppedVersion = 0;

  constructor(kept: StoredVoterState, nowMs: number) {
    this.#isFresh = kept.isFresh;
    this.#ballots = new Map(Object.entries(kept.elections));
    this.#floor = kept.floor;
    this.#clockFloor = kept.clockFloor;
    this.#startMs = nowMs;
  }

  /** The version that must be on the disk before the server answers about this election. */
  versionOf(election: string): number {
    return this.#memories.get(election)?.version ?? this.#droppedVersion;
  }

  /** The state that must be on the disk. */
  get kept(): StoredVoterState {
    const elections = Object.fromEntries(this.#ballots);
    return { floor: this.#floor, clockFloor: this.#clockFloor, isFresh: this.#isFresh, elections };
  }

  /**
   * The longest lease of each election that another server may have acknowledged, in milliseconds. A released lease counts until
   * `GRACE_MS` after its end, because another server may have acknowledged the next lease meanwhile.
   */
  leases(nowMs: number): Readonly<Record<string, number>> {
    const entries = [...this.#ballots].map(([election, { leaseDurationMs }]) => {
      const lead = this.#memories.get(election)?.lead;
      const isRecent = lead?.released === true && nowMs < lead.heardMs + lead.leaseDurationMs + GRACE_MS;
      return [election, Math.max(leaseDurationMs, isRecent ? lead.leaseDurationMs : 0)] as const;
    });
    return Object.fromEntries(entries);
  }

  /** The latest term that this voter has voted in or learnt of. */
  termOf(election: string): number {
    return this.#ballots.get(election)?.term ?? this.#floor;
  }

  /** The time for which this voter votes for no candidate. With `candidateId`: the time for that candidate. */
  waitMs(election: string, nowMs: number, candidateId?: string): number {
    const { barredUntilMs, holdUntilMs, orderedMs } = this.#memories.get(election) ?? this.#atStart(election);
    const freeMs = Math.max(barredUntilMs, holdUntilMs);
    const transfer = this.#ballots.get(election)?.transfer;
    const isNamed = candidateId === undefined || candidateId === transfer?.candidateId;
    const untilMs = transfer && !isNamed ? Math.max(freeMs, orderedMs) + transfer.timeoutMs : freeMs;
    return Math.max(untilMs - nowMs, 0);
  }

  lastLeader(election: string): string | undefined {
    return this.#memories.get(election)?.lead?.server;
  }

  elect(request: Elect, nowMs: number): Vote {
    const { election, trial, term, termId, candidateId, leaseDurationMs } = request;
    const present = this.termOf(election);
    const isRepeated = !trial && term === present && this.#ballots.get(election)?.votedFor === termId;
    const granted = isRepeated || (term > this.#votedTo(election) && this.waitMs(election, nowMs, candidateId) <= 0);
    if (granted && !trial && !isRepeated) {
      this.#memory(election).vote = { term, candidateId, atMs: nowMs };
      this.#keep(election, { term, votedFor: termId, leaseDurationMs }, nowMs);
    }
    return this.vote(request, granted, nowMs);
  }

  vote({ election, candidateId }: Elect, granted: boolean, nowMs: number): Vote {
    const waitMs = this.waitMs(election, nowMs, candidateId);
    return { kind: "VOTE", granted, term: this.#votedTo(election), waitMs, sign: this.sign(election, nowMs) };
  }

  /** Answers what a leader or an administrator has sent. */
  take(request: Lead | Release | Break | Transfer, from: string, nowMs: number): Acknowledgement {
    if (request.kind === "LEAD") return this.lead(request, from, nowMs);
    if (request.kind === "RELEASE") return this.release(request, from, nowMs);
    return request.kind === "BREAK" ? this.break(request, nowMs) : this.transfer(request, nowMs);
  }

  lead(request: Lead, from: string, nowMs: number): Acknowledgement {
    const { election, term, termId, number, candidateId, value, leaseDurationMs } = request;
    const present = this.termOf(election);
    const last = this.#memories.get(election)?.lead;
    const heard = last?.term === term ? last : undefined;
    const broken = this.#ballotOf(election, term)?.broken;
    const refused =
      term < present || broken !== undefined || heard?.released === true || (heard !== undefined && heard.termId !== termId);
    // An older LEAD changes nothing, because the newer one blocks for longer.
    const isNews = (heard?.number ?? 0) < number;
    if (!refused && isNews) {
      this.#take(election, { term, leaseDurationMs }, nowMs);
      const memory = this.#memory(election);
      memory.barredUntilMs = Math.max(memory.barredUntilMs, nowMs + leaseDurationMs);
      this.#putLast(election);
    }
    // The leader is recorded even if its LEAD is refused. This voter may have voted in a later term whose claim has failed.
    const isKnown = broken !== undefined || heard?.released === true || (last?.term ?? 0) > term;
    if (isNews && !isKnown && this.#ballots.has(election)) {
      const released = false;
      const of = { term, termId, number, candidateId, value, leaseDurationMs };
      this.#memory(election).lead = { ...of, released, heardMs: nowMs, server: from };
    }
    const transfer = refused ? undefined : this.#ballotOf(election, term)?.transfer;
    const orders = { ...(broken ? { broken } : {}), ...(transfer ? { transfer } : {}) };
    return { kind: "LEAD", taken: !refused, term: this.termOf(election), ...orders };
  }

  /**
   * Ends a term. Refuses the order if the term is not the present one, and then keeps nothing of it. Lifts the hold and a
   * transfer as well; an immediate break also lifts the lease.
   */
  break({ election, term, id, reason, immediate }: Break, nowMs: number): Acknowledgement {
    const ballot = this.#ballotOf(election, term);
    const answer = { kind: "BREAK", taken: ballot !== undefined, term: this.termOf(election) } as const;
    if (!ballot || ballot.broken?.id === id) return answer;
    const broken = { id, reason, immediate: immediate || ballot.broken?.immediate === true };
    const memory = this.#memory(election);
    memory.holdUntilMs = -Infinity;
    const isFree = memory.barredUntilMs <= nowMs;
    if (immediate) memory.barredUntilMs = nowMs;
    // Keep a lease that was broken at once. A server that has lost its disk waits for it, and so accepts no LEAD of the term.
    const leaseDurationMs = isFree ? 0 : ballot.leaseDurationMs;
    this.#keep(election, { ...ballot, leaseDurationMs, broken, transfer: undefined }, nowMs);
    return answer;
  }

  /**
   * Makes this voter vote for the named candidate only, for a while after this term. The last order to arrive counts. Refuses the
   * order if the term is not the present one, or if it was broken and the administrator did not know of that.
   */
  transfer(order: Transfer, nowMs: number): Acknowledgement {
    const taken = this.#keepTransfer(order, nowMs);
    return { kind: "TRANSFER", taken, term: this.termOf(order.election) };
  }

  /**
   * Ends the lease of its term, also after a start. A RELEASE of an earlier term than the present one lifts nothing. LEADs of the
   * term that arrive later are refused.
   */
  release(request: Release, from: string, nowMs: number): Acknowledgement {
    const { election, term, termId, number, leaseDurationMs, holdMs, transfer } = request;
    const last = this.#memories.get(election)?.lead;
    const heard = last?.term === term ? last : undefined;
    if (term >= this.termOf(election)) {
      if (!heard?.released) {
        const ballot = this.#ballotOf(election, term);
        // The hold takes the place of the lease on the disk. So after a start, this voter waits for the hold only. An earlier
        // immediate break has lifted the lease, and does not lift the hold.
        if (ballot?.leaseDurationMs !== holdMs || ballot.broken?.immediate) {
          const broken = ballot?.broken && { ...ballot.broken, immediate: false };
          this.#keep(election, { ...(ballot ?? { term, votedFor: null }), leaseDurationMs: holdMs, broken }, nowMs);
        }
        const memory = this.#memory(election);
        memory.holdUntilMs = Math.max(memory.holdUntilMs, nowMs + holdMs);
        memory.barredUntilMs = nowMs;
      }
      // The leader may know only of an order that a later one has replaced here.
      if (transfer && !this.#ballotOf(election, term)?.transfer)
        this.#keepTransfer({ ...transfer, election, term, afterBreak: false }, nowMs);
    }
    if (term >= (last?.term ?? 0) && this.#ballots.has(election)) {
      // If no LEAD of this term has arrived, the candidate is the one that got this voter's vote.
      const { vote } = this.#memory(election);
      const { candidateId, heardMs } = heard ?? { candidateId: vote?.term === term ? vote.candidateId : "", heardMs: nowMs };
      const released = true;
      this.#memory(election).lead = { term, termId, number, candidateId, leaseDurationMs, released, heardMs, server: from };
    }
    return { kind: "RELEASE", taken: true, term: this.termOf(election) };
  }

  sign(election: string, nowMs: number): LeaderStatus | undefined {
    const memory = this.#memories.get(election) ?? this.#atStart(election);
    const before = this.#leadBefore(election);
    const lead = (memory.lead?.term ?? -1) < (before?.term ?? 0) ? before : memory.lead;
    if (!lead) return undefined;
    const { term, number, candidateId, value, leaseDurationMs, heardMs, released } = lead;
    const holdMs = Math.max(memory.holdUntilMs - nowMs, 0);
    const { broken, transfer } = this.#ballotOf(election, term) ?? {};
    const left = transfer && { ...transfer, leftMs: this.waitMs(election, nowMs, "") };
    const sign = { term, number, candidateId, value, leaseDurationMs, ageMs: nowMs - heardMs, released, holdMs };
    const { vote } = memory;
    // No claim takes longer, so this candidate may still win by this voter's vote.
    const isOpen = vote !== undefined && vote.term > term && nowMs < vote.atMs + LONGEST_CLAIM_MS;
    return {
      ...sign,
      ...(broken ? { broken } : {}),
      ...(left ? { transfer: left } : {}),
      ...(isOpen ? { votedFor: vote.candidateId } : {}),
    };
  }

  /** An order to a term proves that it had a leader. Its LEADs may have arrived before this start, or at other servers only. */
  #leadBefore(election: string): LastLead | undefined {
    const ballot = this.#ballots.get(election);
    if (!ballot || !isOrdered(ballot)) return undefined;
    const { term, leaseDurationMs } = ballot;
    const nobody = { termId: "", number: 0, candidateId: "", released: false, server: "" };
    return { ...nobody, term, leaseDurationMs, heardMs: this.#startMs };
  }

  /** Returns whether the voter has the order now. The same order again does not restart its time. */
  #keepTransfer({ election, term, afterBreak, id, candidateId, timeoutMs }: Omit<Transfer, "kind">, nowMs: number): boolean {
    const ballot = this.#ballotOf(election, term);
    if (!ballot || (ballot.broken && !afterBreak)) return false;
    if (ballot.transfer?.id === id) return true;
    this.#memory(election).orderedMs = nowMs;
    this.#keep(election, { ...ballot, transfer: { id, candidateId, timeoutMs } }, nowMs);
    return true;
  }

  #ballotOf(election: string, term: number): Ballot | undefined {
    const ballot = this.#ballots.get(election);
    return ballot?.term === term ? ballot : undefined;
  }

  /** This voter votes only for terms above this one. */
  #votedTo(election: string): number {
    return Math.max(this.termOf(election), this.#clockFloor);
  }

  /** Records a term that another server's LEAD has named, and the longest lease that may still be valid. */
  #take(election: string, { term, leaseDurationMs }: Pick<Ballot, "term" | "leaseDurationMs">, nowMs: number): void {
    const before = this.#ballots.get(election);
    // A longer lease of an earlier term may still be valid.
    const standingMs = before && this.waitMs(election, nowMs) > 0 ? before.leaseDurationMs : 0;
    const isSame = before?.term === term;
    const longestMs = Math.max(leaseDurationMs, standingMs, isSame ? before.leaseDurationMs : 0);
    if (isSame && before.leaseDurationMs === longestMs) return;
    const ballot = isSame ? before : { term, votedFor: null };
    this.#keep(election, { ...ballot, leaseDurationMs: longestMs }, nowMs);
  }

  #keep(election: string, ballot: Ballot, nowMs: number): void {
    const memory = this.#memory(election);
    this.#ballots.set(election, ballot);
    this.#putLast(election);
    this.version += 1;
    memory.version = this.version;
    this.#isFresh = false;
    this.#dropOldest(nowMs);
  }

  /** Moves an election to the end of the map, which is ordered by last use. */
  #putLast(election: string): void {
    const ballot = this.#ballots.get(election);
    if (!ballot) return;
    this.#ballots.delete(election);
    this.#ballots.set(election, ballot);
  }

  #dropOldest(nowMs: number): void {
    if (this.#ballots.size <= KEPT_ELECTIONS) return;
    const over = [...this.#ballots].filter(([name, { term }]) => term <= HIGHEST_DROPPED_TERM && this.#isOver(name, nowMs));
    for (const [name, ballot] of over.slice(0, Math.max(over.length - KEPT_ELECTIONS, 0))) {
      // The orders are dropped with the ballot. A floor above the term makes this voter refuse the term's LEADs and late orders.
      this.#floor = Math.max(this.#floor, isOrdered(ballot) ? ballot.term + 1 : ballot.term);
      this.#droppedVersion = this.version;
      this.#ballots.delete(name);
      this.#memories.delete(name);
    }
  }

  #isOver(election: string, nowMs: number): boolean {
    const votedMs = this.#memories.get(election)?.vote?.atMs ?? -Infinity;
    return this.waitMs(election, nowMs - GRACE_MS, "") <= 0 && votedMs <= nowMs - GRACE_MS;
  }

  #memory(election: string): Memory {
    const known = this.#memories.get(election);
    if (known) return known;
    const memory = this.#atStart(election);
    this.#memories.set(election, memory);
    return memory;
  }

  /** An election without a ballot in an intact file is new to this voter. */
  #atStart(election: string): Memory {
    const { leaseDurationMs = 0, broken } = this.#ballots.get(election) ?? {};
    return {
      barredUntilMs: this.#startMs + (broken?.immediate ? 0 : leaseDurationMs),
      ...{ holdUntilMs: -Infinity, orderedMs: -Infinity, version: 0 },
    };
  }
}

/** Reports whether an administrator has given an order to the ballot's term. */
function isOrdered({ broken, transfer }: Ballot): boolean {
  return broken !== undefined || transfer !== undefined;
}

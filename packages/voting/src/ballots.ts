import { LONGEST_CLAIM_MS } from "./admission.ts";
import type { Acknowledgement, Break, Elect, Handover, Lead, Release, Sign, Transfer, Vote } from "./messages.ts";
import { lastOrderOf, verdictOn, type Ordered } from "./orders.ts";

/** What a voter keeps of one election, on its disk before it answers. */
export interface Ballot extends Ordered {
  readonly term: number;
  /** The termId of the claim that has its one vote of that term; null where it has learnt of the term by a LEAD. */
  readonly votedFor: string | null;
  /** The lease that may stand: after a start nobody is voted for, for so long. */
  readonly leaseDurationMs: number;
}

/** All that a voter keeps. */
export interface KeptBallots {
  /** An election that is not among these has this term: it was dropped, or is new. */
  readonly floor: number;
  /** Nobody is voted for below this. A first start has it of the clock; it keeps no LEAD out. */
  readonly clockFloor: number;
  /** Nothing was voted or heard since the clock gave that. */
  readonly isFresh: boolean;
  readonly elections: Readonly<Record<string, Ballot>>;
}

/** What a voter has heard since it was started. */
interface Memory {
  barredUntilMs: number;
  holdUntilMs: number;
  /** Since when it has the order to hand over. */
  orderedMs: number;
  /** Whom it has voted for last, and when. */
  vote?: { readonly term: number; readonly candidateId: string; readonly atMs: number };
  /** What `version` became when it last changed something that has to be kept. */
  version: number;
  lead?:
    | (Omit<Sign, "ageMs" | "holdMs"> & { readonly termId: string; readonly heardMs: number; readonly server: string })
    | undefined;
}

/** So many elections that are over are kept in full; of the others one number is. */
const KEPT_ELECTIONS = 1_000;
/** A leader that was not heard for its lease may be heard again, and a claim is under way for a while: over is what was so for so long. */
const GRACE_MS = 60_000;
/** One that goes further is kept for good: others are to have terms above those that were dropped. */
export const HIGHEST_DROPPED_TERM: number = 2 ** 52;

/**
 * The rules by which one server votes: a pure state machine. The caller gives the time, by a monotonic clock, and sees to it
 * that what has changed is on the disk before anybody is answered.
 */
export class Ballots {
  readonly #ballots: Map<string, Ballot>;
  readonly #memories = new Map<string, Memory>();
  readonly #startMs: number;
  #floor: number;
  readonly #clockFloor: number;
  #isFresh: boolean;
  /** Rises whenever something changes that has to be kept. */
  version = 0;
  /** What `version` became when an election was last dropped. */
  #droppedVersion = 0;

  constructor(kept: KeptBallots, nowMs: number) {
    this.#isFresh = kept.isFresh;
    this.#ballots = new Map(Object.entries(kept.elections));
    this.#floor = kept.floor;
    this.#clockFloor = kept.clockFloor;
    this.#startMs = nowMs;
  }

  /** What is said of an election waits until this version is on the disk. */
  versionOf(election: string): number {
    return this.#memories.get(election)?.version ?? this.#droppedVersion;
  }

  /** What has to be kept. */
  get kept(): KeptBallots {
    const elections = Object.fromEntries(this.#ballots);
    return { floor: this.#floor, clockFloor: this.#clockFloor, isFresh: this.#isFresh, elections };
  }

  /** The orders to the present terms, also those that bar nobody any more: they have overtaken others. */
  get orders(): Readonly<Record<string, Ordered>> {
    const ordered = [...this.#ballots].filter(([, ballot]) => lastOrderOf(ballot) > 0);
    return Object.fromEntries(ordered.map(([election, { broken, handover }]) => [election, { broken, handover }]));
  }

  /**
   * The longest lease that another server may have acknowledged. One that was released counts for a while: another server may
   * have acknowledged the next one since.
   */
  longestLeaseMs(nowMs: number): number {
    const standing = [...this.#ballots.values()].map(({ leaseDurationMs }) => leaseDurationMs);
    const released = [...this.#memories.values()].map(({ lead }) => {
      const isRecent = lead?.released === true && nowMs < lead.heardMs + lead.leaseDurationMs + GRACE_MS;
      return isRecent ? lead.leaseDurationMs : 0;
    });
    return Math.max(0, ...standing, ...released);
  }

  /** The term that it has voted in, or has learnt of. */
  termOf(election: string): number {
    return this.#ballots.get(election)?.term ?? this.#floor;
  }

  /** For how long nobody is voted for; or a candidate is not, whoever else may be. */
  waitMs(election: string, nowMs: number, candidateId?: string): number {
    const { barredUntilMs, holdUntilMs, orderedMs } = this.#memories.get(election) ?? this.#atStart(election);
    const freeMs = Math.max(barredUntilMs, holdUntilMs);
    const handover = this.#ballots.get(election)?.handover;
    const isNamed = candidateId === undefined || candidateId === handover?.candidateId;
    const untilMs = handover && !isNamed ? Math.max(freeMs, orderedMs) + handover.timeoutMs : freeMs;
    return Math.max(untilMs - nowMs, 0);
  }

  /** The server whose LEAD was heard last. */
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

  lead(
    { election, term, termId, number, leaseDurationMs, candidateId, value }: Lead,
    from: string,
    nowMs: number,
  ): Acknowledgement {
    const present = this.termOf(election);
    const last = this.#memories.get(election)?.lead;
    const heard = last?.term === term ? last : undefined;
    const broken = this.#ballotOf(election, term)?.broken;
    const refused =
      term < present || broken !== undefined || heard?.released === true || (heard !== undefined && heard.termId !== termId);
    // Who has taken a newer one is barred for longer.
    const isNews = (heard?.number ?? 0) < number;
    if (!refused && isNews) {
      this.#take(election, { term, leaseDurationMs }, nowMs);
      const memory = this.#memory(election);
      memory.barredUntilMs = Math.max(memory.barredUntilMs, nowMs + leaseDurationMs);
      this.#putLast(election);
    }
    // Whoever has voted for a later term in vain refuses the leader that there is, and hears of it all the same.
    const isKnown = broken !== undefined || heard?.released === true || (last?.term ?? 0) > term;
    if (isNews && !isKnown && this.#ballots.has(election)) {
      const released = false;
      this.#memory(election).lead = {
        term,
        termId,
        number,
        candidateId,
        value,
        leaseDurationMs,
        released,
        heardMs: nowMs,
        server: from,
      };
    }
    const handover = refused ? undefined : this.#ballotOf(election, term)?.handover;
    const orders = { ...(broken ? { broken } : {}), ...(handover ? { handover } : {}) };
    return { kind: "LEAD", taken: !refused, term: this.termOf(election), ...orders };
  }

  /** Ends a term, which it must know: of another one nothing is kept. Whatever else bars candidates is lifted. */
  break({ election, term, id, number, reason, immediate }: Break, nowMs: number): Acknowledgement {
    const ballot = this.#ballotOf(election, term);
    const broken = { id, number, reason, immediate };
    const verdict = ballot && verdictOn(broken, ballot);
    const taken = verdict === "new" || verdict === "known";
    const answer = { kind: "BREAK", taken, term: this.termOf(election) } as const;
    if (!ballot || verdict !== "new") return answer;
    const memory = this.#memory(election);
    memory.holdUntilMs = -Infinity;
    if (immediate) memory.barredUntilMs = nowMs;
    const isFree = immediate || memory.barredUntilMs <= nowMs;
    const leaseDurationMs = isFree ? 0 : ballot.leaseDurationMs;
    this.#keep(election, { ...ballot, leaseDurationMs, broken, handover: undefined }, nowMs);
    return answer;
  }

  /** Nobody but one candidate is voted for after this term, for a while. It must know the term. */
  transfer({ election, term, id, number, candidateId, timeoutMs }: Transfer, nowMs: number): Acknowledgement {
    const taken = this.#handOver(election, term, { id, number, candidateId, timeoutMs }, nowMs);
    return { kind: "TRANSFER", taken, term: this.termOf(election) };
  }

  /** Ends the bar of its own term, also after a start, and of no other; LEADs of that term that are under way bar nobody. */
  release(request: Release, from: string, nowMs: number): Acknowledgement {
    const { election, term, termId, number, leaseDurationMs, holdMs, handover } = request;
    const last = this.#memories.get(election)?.lead;
    const heard = last?.term === term ? last : undefined;
    if (term >= this.termOf(election)) {
      if (!heard?.released) {
        const ballot = this.#ballotOf(election, term);
        // After a start nobody is voted for during the hold; the lease is over for good.
        if (ballot?.leaseDurationMs !== holdMs) {
          this.#keep(election, { ...(ballot ?? { term, votedFor: null }), leaseDurationMs: holdMs }, nowMs);
        }
        const memory = this.#memory(election);
        memory.holdUntilMs = Math.max(memory.holdUntilMs, nowMs + holdMs);
        memory.barredUntilMs = nowMs;
      }
      if (handover) this.#handOver(election, term, handover, nowMs);
    }
    if (term >= (last?.term ?? 0) && this.#ballots.has(election)) {
      // Of a claim that has come to no LEAD here, its vote tells whose it was.
      const { vote } = this.#memory(election);
      const { candidateId, heardMs } = heard ?? { candidateId: vote?.term === term ? vote.candidateId : "", heardMs: nowMs };
      const released = true;
      this.#memory(election).lead = { term, termId, number, candidateId, leaseDurationMs, released, heardMs, server: from };
    }
    return { kind: "RELEASE", taken: true, term: this.termOf(election) };
  }

  sign(election: string, nowMs: number): Sign | undefined {
    const memory = this.#memories.get(election) ?? this.#atStart(election);
    const before = this.#leadBefore(election);
    const lead = (memory.lead?.term ?? -1) < (before?.term ?? 0) ? before : memory.lead;
    if (!lead) return undefined;
    const { term, number, candidateId, value, leaseDurationMs, heardMs, released } = lead;
    const holdMs = Math.max(memory.holdUntilMs - nowMs, 0);
    const { broken, handover } = this.#ballotOf(election, term) ?? {};
    const left = handover && { ...handover, leftMs: this.waitMs(election, nowMs, "") };
    const sign = { term, number, candidateId, value, leaseDurationMs, ageMs: nowMs - heardMs, released, holdMs };
    const votedFor = this.#votedForAfter(term, memory, nowMs);
    return {
      ...sign,
      ...(broken ? { broken } : {}),
      ...(left ? { handover: left } : {}),
      ...(votedFor === undefined ? {} : { votedFor }),
    };
  }

  /** The candidate that may come to lead by its vote: no claim takes longer. */
  #votedForAfter(term: number, { vote }: Memory, nowMs: number): string | undefined {
    return vote && vote.term > term && nowMs < vote.atMs + LONGEST_CLAIM_MS ? vote.candidateId : undefined;
  }

  /** Where there is an order to a term, it was led, though all of it was heard before a start, or by others. */
  #leadBefore(election: string): Memory["lead"] {
    const ballot = this.#ballots.get(election);
    if (!ballot || lastOrderOf(ballot) === 0) return undefined;
    const { term, leaseDurationMs } = ballot;
    const nobody = { termId: "", number: 0, candidateId: "", released: false, server: "" };
    return { ...nobody, term, leaseDurationMs, heardMs: this.#startMs };
  }

  #handOver(election: string, term: number, handover: Handover, nowMs: number): boolean {
    const ballot = this.#ballotOf(election, term);
    if (!ballot) return false;
    const verdict = verdictOn(handover, ballot);
    if (verdict === "new") {
      this.#memory(election).orderedMs = nowMs;
      this.#keep(election, { ...ballot, handover }, nowMs);
    }
    return verdict !== "refused";
  }

  #ballotOf(election: string, term: number): Ballot | undefined {
    const ballot = this.#ballots.get(election);
    return ballot?.term === term ? ballot : undefined;
  }

  /** Nobody is voted for up to this term. */
  #votedTo(election: string): number {
    return Math.max(this.termOf(election), this.#clockFloor);
  }

  /** A term that somebody else has been given: it is known, and a lease may stand. */
  #take(election: string, { term, leaseDurationMs }: Pick<Ballot, "term" | "leaseDurationMs">, nowMs: number): void {
    const before = this.#ballots.get(election);
    // A longer lease of an earlier term may still stand.
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

  /** The ones that were used last come last. */
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
      // Nothing of a term that was given orders is taken, though these are forgotten: no LEAD where it was broken, and no earlier order.
      this.#floor = Math.max(this.#floor, lastOrderOf(ballot) > 0 ? ballot.term + 1 : ballot.term);
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

  /** An election that an intact file lacks is new to it. */
  #atStart(election: string): Memory {
    const leaseDurationMs = this.#ballots.get(election)?.leaseDurationMs ?? 0;
    return {
      barredUntilMs: this.#startMs + leaseDurationMs,
      holdUntilMs: -Infinity,
      orderedMs: -Infinity,
      version: 0,
    };
  }
}

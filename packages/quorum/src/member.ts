import { ConfigurationError, isLeaseholdError, type Clock } from "@leasehold/core";
import {
  fenceOfRecord,
  Journal,
  sendRequest,
  type Fence,
  type LeaseRecord,
  type PutOptions,
  type RecordStore,
  type StoredRecord,
} from "@leasehold/core/provider";
import { Health } from "./health.ts";
import { keptOf, NOTHING, recordOf, type Kept, type Place, type State } from "./kept.ts";
import { CONNECT_TIMEOUT_MS, OverdueReads } from "./overdue-reads.ts";
import type { Roster } from "./roster.ts";

/** A request to a member: how long to wait for it, and whose it is. */
export interface MemberLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** One store of the quorum, as a keeper of states. */
export class Member {
  readonly name: string;
  readonly records: RecordStore;
  readonly #place: Place;
  readonly #clock: Clock;
  readonly #health: Health;
  readonly #reads: OverdueReads;

  /** @param names of all members, sorted. @param journal is told when it fails, and when it answers again. */
  constructor(name: string, records: RecordStore, names: readonly string[], clock: Clock, journal: Journal = Journal.to(false)) {
    this.name = name;
    this.records = records;
    this.#place = { name, place: `${name} (${records.name})`, names };
    this.#clock = clock;
    this.#health = new Health(this.#place.place, clock, journal);
    this.#reads = new OverdueReads(clock);
  }

  /** The member and its kind of store, for people. */
  get place(): string {
    return this.#place.place;
  }

  /** Returns what it keeps. @throws {ConfigurationError} where that is another list's, which is no failure of this member. */
  async get(election: string, consistent: boolean, { timeoutMs, signal }: MemberLimits): Promise<Kept> {
    const store = this.#place.place;
    let refusal: unknown;
    const kept = await this.#watched(signal, async () => {
      const stored = await sendRequest(
        { clock: this.#clock, store, election, operation: "get", writes: false, timeoutMs, signal },
        (abandoned) => this.#named(() => this.#reads.send(abandoned, (own) => this.#read(election, consistent, timeoutMs, own))),
      );
      try {
        return keptOf(election, this.#place, stored);
      } catch (error) {
        if (!isLeaseholdError(error, "CONFIGURATION")) throw error;
        refusal = error;
        return NOTHING;
      }
    });
    if (refusal !== undefined) throw refusal as Error;
    return kept;
  }

  /**
   * Has it keep a state in place of another one: returns that with its version, or `undefined` where it keeps something else.
   * @param redates true where the store is to count the age of the nonce anew, even of one that it keeps already.
   */
  async put(
    election: string,
    state: State,
    roster: Roster,
    present: Kept,
    redates: boolean,
    limits: MemberLimits,
  ): Promise<Kept | undefined> {
    // By this member's own record: what others keep says nothing of the age here.
    const keepsNonce = !redates && present.proposal?.record.nonce === state.proposal?.record.nonce;
    const options = { ifVersion: present.version, keepsNonce, fence: fenceBetween(present, state) };
    const version = await this.#put(election, recordOf(state, roster), options, limits);
    if (version === undefined) return undefined;
    return { ...state, version, roster: roster.number, incarnation: roster.incarnations[this.name] };
  }

  /** Sends a write whose condition must fail. Returns whether it did. */
  async refuses(election: string, ifVersion: string, roster: Roster, limits: MemberLimits): Promise<boolean> {
    const nothing = { promised: undefined, accepted: undefined, proposal: undefined, seen: {} };
    return (await this.#put(election, recordOf(nothing, roster), { ifVersion, keepsNonce: false }, limits)) === undefined;
  }

  async #read(election: string, consistent: boolean, timeoutMs: number, signal: AbortSignal): Promise<StoredRecord | undefined> {
    return await this.records.get(election, { consistent, signal, timeoutMs: Math.max(timeoutMs, CONNECT_TIMEOUT_MS) });
  }

  async #put(
    election: string,
    record: LeaseRecord,
    options: Pick<PutOptions, "ifVersion" | "keepsNonce" | "fence">,
    { timeoutMs, signal }: MemberLimits,
  ): Promise<string | undefined> {
    const store = this.#place.place;
    const outcome = await this.#watched(signal, () =>
      sendRequest({ clock: this.#clock, store, election, operation: "put", writes: true, timeoutMs, signal }, (abandoned) =>
        this.#named(() => this.records.put(election, record, { ...options, signal: abandoned, timeoutMs })),
      ),
    );
    return outcome.stored ? outcome.version : undefined;
  }

  /** Of a mistake in the use of its store it is told which member that is: the whole quorum ends by it. */
  async #named<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      if (!isLeaseholdError(error, "CONFIGURATION")) throw error;
      const { election, message } = error;
      throw new ConfigurationError(`The quorum's member ${this.#place.place}: ${message}`, { election, cause: error });
    }
  }

  /** One that its caller has called off tells nothing. */
  async #watched<T>(signal: AbortSignal | undefined, request: () => Promise<T>): Promise<T> {
    try {
      const answer = await request();
      this.#health.answered();
      return answer;
    } catch (error) {
      if (!signal?.aborted) this.#health.failed(error);
      throw error;
    }
  }
}

/**
 * The fence that goes with a state, where it is another one than that of what this member keeps: so it follows the ballots, which
 * say what is later. Terms do not: a proposal that lost may have had a later one.
 */
function fenceBetween(present: Kept, { proposal }: State): Fence | undefined {
  if (!proposal) return undefined;
  const fence = fenceOfRecord(proposal.record);
  const before = present.proposal && fenceOfRecord(present.proposal.record);
  return fence.term === before?.term && fence.termId === before.termId ? undefined : fence;
}

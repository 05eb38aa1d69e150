import { ConfigurationError, isLeaseholdError } from "@leasehold/core";
import {
  type Clock,
  fenceOfRecord,
  Journal,
  sendRequest,
  type Fence,
  type LeaseRecord,
  type ListRecordsOptions,
  type PutOptions,
  type RecordStore,
  type StoredRecord,
} from "@leasehold/core/provider";
import { Health } from "./health.ts";
import { decodeMember, NOTHING, recordOf, type MemberState, type MemberIdentity, type State } from "./member-state.ts";
import { CONNECT_TIMEOUT_MS, OverdueReads } from "./overdue-reads.ts";
import type { Roster } from "./roster.ts";

/** Limits of one request to a member: its time, and the signal of its caller. */
export interface MemberLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A member's new state, and the state that it replaces. */
export interface MemberWrite {
  readonly state: State;
  /** The member must keep this state. Otherwise the write changes nothing. */
  readonly present: MemberState;
  /** The roster that the write names. */
  readonly roster: Roster;
  /** The store restarts the age of the nonce, even if the member has this nonce already. */
  readonly redates?: boolean;
}

/** One store of the quorum. It keeps a {@link State} for each election. */
export class Member {
  readonly name: string;
  readonly records: RecordStore;
  readonly #place: MemberIdentity;
  readonly #clock: Clock;
  readonly #health: Health;
  readonly #reads: OverdueReads;

  /** @param names the sorted names of all members. @param journal receives this member's failures and recoveries as messages. */
  constructor(name: string, records: RecordStore, names: readonly string[], clock: Clock, journal: Journal = Journal.to(false)) {
    this.name = name;
    this.records = records;
    this.#place = { name, place: `${name} (${records.name})`, names };
    this.#clock = clock;
    this.#health = new Health(this.#place.place, clock, journal);
    this.#reads = new OverdueReads(clock);
  }

  /** The member's name and kind of store, for messages. */
  get place(): string {
    return this.#place.place;
  }

  /**
   * Returns the state that the member keeps. @throws {ConfigurationError} if a quorum with another list of members wrote the
   * state; the member itself is healthy.
   */
  async get(election: string, consistent: boolean, { timeoutMs, signal }: MemberLimits): Promise<MemberState> {
    const store = this.#place.place;
    let refusal: unknown;
    const kept = await this.#watched(signal, async () => {
      const stored = await sendRequest(
        { clock: this.#clock, store, election, operation: "get", writes: false, timeoutMs, signal },
        (abandoned) => this.#named(() => this.#reads.send(abandoned, (own) => this.#read(election, consistent, timeoutMs, own))),
      );
      try {
        return decodeMember(election, this.#place, stored);
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
   * Yields the names of the member's records that begin with `prefix`. Its store must be able to list.
   * @param turn resolves with the limits of the next request, once it may be sent.
   */
  async *names(prefix: string, pageSize: number, turn: () => Promise<MemberLimits>): AsyncGenerator<string> {
    const store = this.#place.place;
    const request: ListRecordsOptions["request"] = async (send) => {
      const { timeoutMs, signal } = await turn();
      const options = { clock: this.#clock, store, election: prefix, operation: "list", writes: false, timeoutMs, signal };
      return await this.#watched(signal, () =>
        sendRequest(options, (abandoned) => this.#named(() => send({ signal: abandoned, timeoutMs }))),
      );
    };
    for await (const { election } of this.records.list?.(prefix, { pageSize, request }) ?? []) yield election;
  }

  /** Replaces the member's state. Returns the new one with its version, or `undefined` if the member keeps something else. */
  async put(election: string, write: MemberWrite, limits: MemberLimits): Promise<MemberState | undefined> {
    const { state, present, roster, redates } = write;
    // Compares with this member's own record, because each member measures the age of its own copy of the nonce.
    const keepsNonce = !redates && present.proposal?.record.nonce === state.proposal?.record.nonce;
    const options = { ifVersion: present.version, keepsNonce, fence: fenceBetween(present, state) };
    const version = await this.#put(election, recordOf(state, roster), options, limits);
    if (version === undefined) return undefined;
    return { ...state, version, roster: roster.number, incarnation: roster.incarnations[this.name] };
  }

  /** Sends a write whose condition must fail. Returns whether it failed. */
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

  /** Names the member in a {@link ConfigurationError} of its store, because that error ends the use of the whole quorum. */
  async #named<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      if (!isLeaseholdError(error, "CONFIGURATION")) throw error;
      const { election, message } = error;
      throw new ConfigurationError(`The quorum's member ${this.#place.place}: ${message}`, { election, cause: error });
    }
  }

  /** Reports the result of a request to `Health`. A failure after the caller's abort is not reported. */
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
 * Returns the fence to write along with a state; `undefined` if it equals the fence of the state that this member keeps. So the
 * fence follows the ballots, and not the terms: a proposal that was not chosen may have had a higher term.
 */
function fenceBetween(present: MemberState, { proposal }: State): Fence | undefined {
  if (!proposal) return undefined;
  const fence = fenceOfRecord(proposal.record);
  const before = present.proposal && fenceOfRecord(present.proposal.record);
  return fence.term === before?.term && fence.termId === before.termId ? undefined : fence;
}

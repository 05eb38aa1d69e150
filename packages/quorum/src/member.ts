import type { Clock } from "@leasehold/core";
import { sendRequest, type LeaseRecord, type RecordStore } from "@leasehold/core/provider";
import { keptOf, recordOf, type Kept, type State } from "./kept.ts";

/** A request to a member: how long to wait for it, and whose it is. */
export interface MemberLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** One store of the quorum, as a keeper of states. */
export class Member {
  readonly name: string;
  readonly records: RecordStore;
  readonly #names: readonly string[];
  readonly #clock: Clock;

  /** @param names of all members, sorted. */
  constructor(name: string, records: RecordStore, names: readonly string[], clock: Clock) {
    this.name = name;
    this.records = records;
    this.#names = names;
    this.#clock = clock;
  }

  /** Returns what it keeps. */
  async get(election: string, consistent: boolean, { timeoutMs, signal }: MemberLimits): Promise<Kept> {
    const stored = await sendRequest(
      { clock: this.#clock, store: this.#place, election, operation: "get", writes: false, timeoutMs, signal },
      (abandoned) => this.records.get(election, { consistent, signal: abandoned, timeoutMs }),
    );
    return keptOf(election, this.#place, this.#names, stored);
  }

  /**
   * Has it keep a state in place of another one: returns that with its version, or `undefined` where it keeps something else.
   * @param redates true where the store is to count the age of the nonce anew, even of one that it keeps already.
   */
  async put(
    election: string,
    state: State,
    present: Kept,
    redates: boolean,
    { timeoutMs, signal }: MemberLimits,
  ): Promise<Kept | undefined> {
    const record = recordOf(state, this.#names);
    // By this member's own record: what others keep says nothing of the age here.
    const keepsNonce = !redates && present.proposal?.record.nonce === state.proposal?.record.nonce;
    const outcome = await this.#put(election, record, present.version, keepsNonce, { timeoutMs, signal });
    return outcome === undefined ? undefined : { ...state, version: outcome };
  }

  /** Sends a write whose condition must fail. Returns whether it did. */
  async refuses(election: string, ifVersion: string, limits: MemberLimits): Promise<boolean> {
    const nothing = { promised: undefined, accepted: undefined, proposal: undefined, seen: {} };
    return (await this.#put(election, recordOf(nothing, this.#names), ifVersion, false, limits)) === undefined;
  }

  async #put(
    election: string,
    record: LeaseRecord,
    ifVersion: string | undefined,
    keepsNonce: boolean,
    { timeoutMs, signal }: MemberLimits,
  ): Promise<string | undefined> {
    const outcome = await sendRequest(
      { clock: this.#clock, store: this.#place, election, operation: "put", writes: true, timeoutMs, signal },
      (abandoned) => this.records.put(election, record, { ifVersion, keepsNonce, signal: abandoned, timeoutMs }),
    );
    return outcome.stored ? outcome.version : undefined;
  }

  get #place(): string {
    return `${this.name} (${this.records.name})`;
  }
}

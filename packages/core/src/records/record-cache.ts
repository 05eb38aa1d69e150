import { ConfigurationError, ForeignRecordError } from "../reporting/errors.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { Expiry, RequestLimits } from "../store/lease-store.ts";
import { LIST_PAGE_SIZE, type ListedElection } from "../store/listing.ts";
import { instantOf, type Clock, type Instant } from "../time/clock.ts";
import { ExpiringMap } from "../time/expiring-map.ts";
import { AbandonedTerms } from "./abandoned-terms.ts";
import type { Found } from "./holding.ts";
import { lostRecord } from "./lost-record.ts";
import { RecordRequests, type GivenLimits } from "./record-requests.ts";
import { snapshotOf } from "./record-snapshot.ts";
import {
  fenceOfRecord,
  IMPOSSIBLE_VERSION,
  parseLeaseRecord,
  vacantRecord,
  type GetOptions,
  type LeaseRecord,
  type ListRecordsOptions,
  type RecordStore,
  type StoredRecord,
} from "./record-store.ts";
import { ObservedRecord } from "./observed-record.ts";

/** A record without a holder, for `probe`. It is never stored. */
const PROBE: LeaseRecord = vacantRecord({ term: 0, nonce: "probe" });

/** The records of a service, as this process has observed them. Every request goes through here. */
export class RecordCache {
  readonly name: string;
  readonly clock: Clock;
  /** True where a failover may undo what a read shows; see {@link LeaseStoreCapabilities.showsUndurable}. */
  readonly showsUndurable: boolean;
  readonly abandoned: AbandonedTerms;
  readonly #records: RecordStore;
  readonly #requests: RecordRequests;
  readonly #observed: ExpiringMap<ObservedRecord>;
  readonly #absent: ExpiringMap<true>;

  constructor(records: RecordStore, clock: Clock) {
    this.name = records.name;
    this.clock = clock;
    this.showsUndurable = records.capabilities.showsUndurable === true;
    this.abandoned = new AbandonedTerms(clock, this.showsUndurable);
    this.#records = records;
    this.#requests = new RecordRequests(records, clock);
    this.#observed = new ExpiringMap(clock);
    this.#absent = new ExpiringMap(clock);
  }

  last(election: string): ObservedRecord | undefined {
    return this.#observed.get(election);
  }

  isAbsent(election: string): boolean {
    return this.#absent.get(election) === true;
  }

  /** Keeps the observation, for a caller that reads it again only after this time. */
  keep(election: string, forMs: number): void {
    this.#observed.keep(election, forMs);
  }

  /** Returns the election as this process sees it. Only this process knows of the terms that it has abandoned. */
  snapshot(election: string, observed: ObservedRecord, expiry: Expiry | undefined): LeaseSnapshot {
    return snapshotOf(election, observed, { expiry, abandonedHoldMs: this.abandoned.holdMs(election, observed.record) });
  }

  /** Reads the record. Where `consistent` is false, the reply may lag behind the last write. */
  async read(
    election: string,
    limits: GivenLimits,
    { consistent }: Pick<GetOptions, "consistent"> = { consistent: true },
  ): Promise<ObservedRecord | undefined> {
    const sentAt = instantOf(this.clock);
    return await this.#take(election, await this.#requests.get(election, limits, consistent), sentAt, limits);
  }

  /** Lists elections. Each record counts as read, so the next list can show an expiry. */
  async *list(prefix: string, limits: GivenLimits): AsyncGenerator<ListedElection> {
    let sentAt = instantOf(this.clock);
    const request: ListRecordsOptions["request"] = async (send) => {
      sentAt = instantOf(this.clock);
      return await this.#requests.send("list", prefix, limits, send);
    };
    const found = (this.#records as Required<RecordStore>).list(prefix, { pageSize: LIST_PAGE_SIZE, request });
    for await (const { election, stored, problem } of found) {
      limits.signal?.throwIfAborted();
      const listed = problem === undefined ? await this.#listed(election, stored, sentAt, limits) : { problem };
      if (listed) yield "problem" in listed ? { election, state: "foreign", problem: listed.problem } : listed;
    }
  }

  async #listed(
    election: string,
    stored: StoredRecord,
    sentAt: Instant,
    limits: GivenLimits,
  ): Promise<LeaseSnapshot | { readonly problem: string } | undefined> {
    try {
      const observed = await this.#take(election, stored, sentAt, limits);
      // A list decides nothing, so the store's clock may show the age.
      return observed && this.snapshot(election, observed, "store-clock");
    } catch (error) {
      if (!(error instanceof ForeignRecordError)) throw error;
      return error;
    }
  }

  /** Takes in the reply to a read that was sent at `sentAt`. Reads again if the reply shows less than this process knows. */
  async #take(
    election: string,
    stored: StoredRecord | undefined,
    sentAt: Instant,
    limits: GivenLimits,
  ): Promise<ObservedRecord | undefined> {
    const last = this.last(election);
    if (!last?.isPast(stored) || last.overtook(sentAt)) return this.#saw(election, stored, sentAt);
    // A replica that lags shows an earlier record. So does a read that was sent before a write, if the write's reply came first.
    const againAt = instantOf(this.clock);
    return this.#saw(election, await this.#requests.get(election, limits, true), againAt);
  }

  async poll(election: string, limits: GivenLimits, expiry: Expiry | undefined): Promise<LeaseSnapshot | undefined> {
    // The first read must be consistent, because later ones are compared with it. So must a read whose own age counts.
    const consistent = this.last(election)?.countsStoreClock(expiry) ?? true;
    let seen = await this.read(election, limits, { consistent });
    // If no other clock confirms the store's, a second read has to agree with the first.
    if (seen?.countsStoreClock(expiry) && seen.wantsConfirmation) seen = await this.read(election, limits);
    return seen && this.snapshot(election, seen, expiry);
  }

  /**
   * Writes a record in place of the found one. Returns the new version, or `undefined` if the store holds something else.
   * @param mayKeepAge false if the store has to restart the age of a nonce that does not change.
   */
  async write(
    election: string,
    record: LeaseRecord,
    found: Found | undefined,
    { timeoutMs }: RequestLimits,
    mayKeepAge = true,
  ): Promise<string | undefined> {
    // A record that is gone has no age to keep. The store must start one, or no new process would see the hold end.
    const last = this.last(election);
    const isMissing = last?.isMissing === true && last.version === found?.version;
    const keepsNonce = mayKeepAge && !isMissing && record.nonce === found?.record.nonce;
    const sentAt = instantOf(this.clock);
    // The version is copied here, because the observed record may change while the request is under way.
    const ifVersion = found?.version;
    const fence = fenceOfRecord(record);
    const passed = found && fenceOfRecord(found.record);
    const fenceChanges = fence.term !== passed?.term || fence.termId !== passed.termId;
    const change = { ifVersion, keepsNonce, fence: fenceChanges ? fence : undefined };
    const outcome = await this.#requests.put(election, record, { ...change, timeoutMs });
    if (outcome.stored) {
      this.#saw(election, { data: record, version: outcome.version }, sentAt, ifVersion);
      return outcome.version;
    }
    this.#absent.delete(election);
    const observed = this.last(election);
    if (outcome.current) this.#saw(election, outcome.current, sentAt);
    // The service did not say which record has replaced the observed one.
    else if (observed && observed.version === ifVersion) observed.outdated = true;
    return undefined;
  }

  /** Writes the found record again, so that the store restarts the age of its nonce. */
  async restartAge(election: string, found: Found, limits: RequestLimits): Promise<void> {
    await this.write(election, found.record, found, limits, false);
  }

  async fenceTerm(election: string, limits: GivenLimits): Promise<number | undefined> {
    const read = this.#records.fenceTerm?.bind(this.#records);
    return read && (await this.#requests.send("get", election, limits, (options) => read(election, options)));
  }

  /** Sends a write whose condition must fail, to prove the right to write. @throws {ConfigurationError} if it succeeds. */
  async probe(election: string, limits: GivenLimits): Promise<void> {
    // Sent without a fence. A change of the fence would wait for the leader's transactions, and delay its next ones.
    const condition = { ifVersion: IMPOSSIBLE_VERSION, keepsNonce: false };
    const { stored } = await this.#requests.put(election, PROBE, { ...limits, ...condition });
    if (!stored) return;
    throw new ConfigurationError(
      `${this.name} has carried out a write whose condition cannot have held: it does not compare and swap, and cannot hold leases.`,
      { election },
    );
  }

  /** Takes in a reply. `replaced`: the version that an own write has replaced. A read of that version is older. */
  #saw(election: string, stored: StoredRecord | undefined, sentAt: Instant, replaced?: string): ObservedRecord | undefined {
    const known = this.last(election);
    if (known?.overtook(sentAt) && known.version !== replaced) return known;
    this.#absent.delete(election);
    if (!stored) {
      this.#observed.delete(election);
      this.#absent.set(election, true);
      return undefined;
    }
    const { lostTerm } = stored;
    const record = lostTerm === undefined ? parseLeaseRecord(stored.data) : lostRecord(lostTerm, known?.record);
    if ("problem" in record) {
      this.#observed.delete(election);
      throw new ForeignRecordError(election, `the record in ${this.name}`, record.problem);
    }
    this.abandoned.settle(election, record, stored);
    const { data: _, ...facts } = stored;
    const reading = { ...facts, record, sentAt };
    if (known) {
      known.update(reading);
      return known;
    }
    const observed = new ObservedRecord(this.clock, this.#records.capabilities.storeClock, reading);
    this.#observed.set(election, observed);
    return observed;
  }
}

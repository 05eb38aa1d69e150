import {
  ConfigurationError,
  UnsupportedError,
  type LeaseSnapshot,
  type LeaseStore,
  type LeaseStoreCapabilities,
  type ListedElection,
} from "@leasehold/core";
import {
  type BreakOptions,
  type BreakOutcome,
  type CheckOptions,
  type CheckReport,
  type ListOptions,
  type ReadOptions,
  type RepairOptions,
  type RepairOutcome,
  type TransferOptions,
  type TransferOutcome,
  systemClock,
  type Clock,
  type OccurrenceOptions,
  cannotPause,
  Administration,
  checkList,
  checkName,
  checkTerm,
  checkValue,
  DEFAULT_REQUEST_TIMEOUT_MS,
  duration,
  timedCheck,
  RecordLeaseStore,
  type AcquireOutcome,
  type AcquireRequest,
  type Fenced,
  type JoinOptions,
  type Lease,
  type Place,
  type ReleaseOptions,
  type ReleaseOutcome,
  type RenewOutcome,
  type RequestLimits,
  type WatchOptions,
} from "@leasehold/core/provider";
import { acquireLease } from "./acquisition.ts";
import { administered } from "./administration.ts";
import { Cluster } from "./cluster.ts";
import { watchElection } from "./election-watch.ts";
import { STORE_NAME } from "./etcd-errors.ts";
import { EtcdOccurrenceStore } from "./etcd-occurrence-store.ts";
import { EtcdRecordStore } from "./etcd-record-store.ts";
import { fenceOf } from "./fence.ts";
import { Holdings } from "./holding.ts";
import { watchHolding } from "./holding-watch.ts";
import { ElectionKeys, isLeaseHex, OccurrenceKeys } from "./keys.ts";
import { listElections } from "./listing.ts";
import { resolveOptions, type EtcdLeaseStoreOptions } from "./options.ts";
import type { StoreParts } from "./parts.ts";
import { probe } from "./probe.ts";
import { QueuePlace } from "./queue-place.ts";
import { ElectionReader } from "./reader.ts";
import { releaseLease } from "./release.ts";
import { publishValue, renewLease } from "./renewal.ts";
import { EtcdRequests } from "./requests.ts";
import { Retention } from "./retention.ts";
import { holds, type EtcdCompare } from "./wire.ts";

/** etcd's shortest lease is one and a half times its election timeout, in whole seconds. The default timeout is one second. */
const MIN_LEASE_MS = 2_000;
/** The longest time that Node's timers can wait, rounded down to whole seconds. */
const MAX_LEASE_MS = 2_147_483_000;
/** The store's own limit; etcd takes requests of up to 1.5 MiB. */
const MAX_VALUE_BYTES = 65_536;

/**
 * A {@link LeaseStore} on etcd 3.4 or later, over its JSON gateway. An election is a queue of keys, each on a lease of its own;
 * the oldest key leads. Keys and values are those of Go's `concurrency.Election`. So programs in Go and `etcdctl elect` compete
 * in the same elections.
 *
 * A term is the revision at which the leader's key was created. It rises with every term, often by more than 1. etcd keeps
 * nothing of an election without candidates. The last term of such an election is the highest that this process has seen.
 *
 * @example
 * ```ts
 * const store = new EtcdLeaseStore({ endpoints: ["http://10.0.0.7:2379", "http://10.0.0.8:2379", "http://10.0.0.9:2379"] });
 * const elector = new Elector({ store, election: "nightly-billing", leaseDurationMs: 15_000 });
 * ```
 */
export class EtcdLeaseStore implements LeaseStore {
  readonly name: string = STORE_NAME;
  readonly capabilities: LeaseStoreCapabilities = {
    expiry: "native",
    watch: "push",
    minLeaseMs: MIN_LEASE_MS,
    maxLeaseMs: MAX_LEASE_MS,
    leaseGranularityMs: 1_000,
    maxValueBytes: MAX_VALUE_BYTES,
    fence: "atomic",
    transfer: undefined,
    list: true,
    // The server looks for expired leases twice a second. It deletes their keys by one more write to the cluster.
    storeClock: { toleranceMs: 1_000, exact: true },
  };
  readonly clock: Clock;
  readonly #prefix: string;
  readonly #parts: StoreParts;
  readonly #administration: Administration;
  readonly #fleetKeys: OccurrenceKeys;
  #fleets: RecordLeaseStore | undefined;
  readonly #retentions = new Map<number, Retention>();

  /** @throws {ConfigurationError} for options that cannot work, before any request. */
  constructor(options: EtcdLeaseStoreOptions) {
    const { transport, prefix } = resolveOptions(options);
    const clock = options.clock ?? systemClock;
    const cluster = new Cluster();
    const requests = new EtcdRequests(transport, clock, cluster);
    this.clock = clock;
    this.#prefix = prefix;
    this.#fleetKeys = OccurrenceKeys.ofFleets(prefix);
    this.#parts = {
      clock,
      cluster,
      requests,
      reader: new ElectionReader(clock, requests),
      holdings: new Holdings(),
      keysOf: (election) => new ElectionKeys(prefix, election),
    };
    this.#administration = new Administration(administered(this.#parts));
  }

  /** Wins only if the election has no candidate, because a candidate in the queue comes first. */
  async acquire(request: AcquireRequest): Promise<AcquireOutcome> {
    checkRequest(request);
    return await acquireLease(this.#parts, request);
  }

  join(request: AcquireRequest, options: JoinOptions): Place {
    checkRequest(request);
    return new QueuePlace(this.#parts, request, options);
  }

  /** Sends two requests in one attempt: a keep-alive, and a read that proves it. */
  async renew(lease: Lease, limits: RequestLimits): Promise<RenewOutcome> {
    return await renewLease(this.#parts, this.#parts.holdings.of(lease), limits);
  }

  async publish(lease: Lease, value: string, limits: RequestLimits): Promise<RenewOutcome> {
    checkValue(value, MAX_VALUE_BYTES);
    return await publishValue(this.#parts, this.#parts.holdings.of(lease), value, limits);
  }

  /** Rounds a hold up to whole seconds, and to the shortest lease that the server grants. */
  async release(lease: Lease, options: ReleaseOptions): Promise<ReleaseOutcome> {
    return await releaseLease(this.#parts, this.#parts.holdings.of(lease), options);
  }

  async read(election: string, options: ReadOptions = {}): Promise<LeaseSnapshot | undefined> {
    checkName("election", election);
    const { reader, keysOf } = this.#parts;
    const limits = { timeoutMs: options.timeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS, signal: options.signal };
    reader.knows(election, options.knownTerm);
    return await reader.snapshot(await reader.read(keysOf(election), election, limits), limits);
  }

  /** Lists the elections that have candidates: etcd keeps nothing of others. */
  list(prefix: string = "", options: ListOptions = {}): AsyncIterable<ListedElection> {
    checkList(prefix, options);
    const { timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
    return listElections(this.#parts, this.#prefix, prefix, { timeoutMs, signal });
  }

  /** Returns one lease duration or a little less. Standbys poll even while etcd pushes events, because a watch may lose some. */
  nextLookMs(election: string, retryPeriodMs: number): number {
    const { reader } = this.#parts;
    const waitMs = (reader.lastLeaseMs(election) ?? retryPeriodMs) * (0.8 + this.clock.random() / 5);
    reader.keep(election, 2 * waitMs);
    return waitMs;
  }

  async check({ election, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal }: CheckOptions): Promise<CheckReport> {
    checkName("election", election);
    const { reader, keysOf } = this.#parts;
    const keys = keysOf(election);
    const limits = { timeoutMs, signal };
    return await timedCheck(
      this.clock,
      () => reader.read(keys, election, limits),
      () => probe(this.#parts, keys, election, limits),
    );
  }

  watch(election: string, { signal }: WatchOptions): AsyncIterable<void> {
    checkName("election", election);
    return watchElection(this.#parts, election, signal);
  }

  /**
   * Wakes the holder once its key is deleted, for example by a revocation of its lease. Otherwise the holder would lead until its
   * next renewal, beside the next leader.
   */
  watchLease(lease: Lease, { signal }: WatchOptions): AsyncIterable<void> {
    return watchHolding(this.#parts, this.#parts.holdings.of(lease), signal);
  }

  /**
   * @throws {UnsupportedError} for a leader in Go, which would not notice. With `immediate` it does not throw: that leader's key
   * is deleted.
   */
  async break(election: string, options: BreakOptions): Promise<BreakOutcome> {
    return await this.#administration.break(election, options);
  }

  /** @throws {UnsupportedError} always: a term is a revision of etcd's. */
  async repair(election: string, _options?: RepairOptions): Promise<RepairOutcome> {
    checkName("election", election);
    throw new UnsupportedError(
      "On etcd a term is a revision, which only etcd can raise: restore it with `etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted`.",
      { election },
    );
  }

  /** @throws {UnsupportedError} always: this store keeps no pause. */
  async pause(election: string): Promise<never> {
    return cannotPause(this.name, election);
  }

  async resume(election: string): Promise<never> {
    return cannotPause(this.name, election);
  }

  /** @throws {UnsupportedError} always: the next candidate in the queue leads. */
  async transfer(election: string, _candidateId: string, _options?: TransferOptions): Promise<TransferOutcome> {
    checkName("election", election);
    throw new UnsupportedError(
      "An election on etcd is a queue: its next candidate leads, and you cannot choose another one. resign() lets it lead.",
      {
        election,
      },
    );
  }

  /**
   * Returns the occurrences of a schedule. Each has a key on a lease that ends `retentionMs` after the key's last write, or up to
   * a sixteenth later.
   */
  occurrences(election: string, { retentionMs }: OccurrenceOptions): EtcdOccurrenceStore {
    checkName("election", election);
    duration("retentionMs", retentionMs);
    const { clock, requests, keysOf } = this.#parts;
    return new EtcdOccurrenceStore(requests, clock, keysOf(election).occurrences, this.#retentionOf(retentionMs));
  }

  /** The store of the records of fleets, which etcd never deletes. A `Fleet` finds it by itself. */
  get fleets(): RecordLeaseStore {
    const { clock, requests } = this.#parts;
    return (this.#fleets ??= new RecordLeaseStore(new EtcdRecordStore(requests, clock, this.#fleetKeys), { clock }));
  }

  /**
   * Returns conditions for the `compare` of your own transaction, in the shape of etcd's gateway. With them, etcd carries out the
   * transaction only while this leadership lasts, whatever this process believes. Sends nothing.
   *
   * @example
   * ```ts
   * const transaction = { compare: [...store.fence(leadership)], success: [{ request_put: { key, value } }] };
   * ```
   */
  fence(leadership: Fenced): readonly EtcdCompare[] {
    const { election, term, termId } = leadership;
    if (isLeaseHex(termId)) return fenceOf(this.#parts.keysOf(election), leadership);
    // The shard of a fleet, whose term has a UUID.
    return [holds(this.#fleetKeys.fence(election), this.#fleetKeys.fenceValue(term, termId))];
  }

  /** Returns the leases for a retention; all stores of occurrences with the same retention share them. */
  #retentionOf(retentionMs: number): Retention {
    const { clock, requests } = this.#parts;
    const retention = this.#retentions.get(retentionMs) ?? new Retention(requests, clock, retentionMs);
    this.#retentions.set(retentionMs, retention);
    return retention;
  }
}

/** @throws {ConfigurationError} for values out of range. {UnsupportedError} for a reservation. */
function checkRequest(request: AcquireRequest): void {
  const { election, candidateId, value, leaseDurationMs, renewIntervalMs, minTerm, reservation } = request;
  checkName("election", election);
  checkName("candidateId", candidateId);
  if (value !== undefined) checkValue(value, MAX_VALUE_BYTES);
  duration("leaseDurationMs", leaseDurationMs, MIN_LEASE_MS);
  if (leaseDurationMs > MAX_LEASE_MS || leaseDurationMs % 1_000 !== 0) {
    throw new ConfigurationError(
      `leaseDurationMs is ${leaseDurationMs}; etcd takes whole seconds, from ${MIN_LEASE_MS} to ${MAX_LEASE_MS} ms.`,
    );
  }
  duration("renewIntervalMs", renewIntervalMs);
  checkTerm("minTerm", minTerm);
  if (!reservation) return;
  throw new UnsupportedError("etcd keeps nothing of an election without candidates, so it cannot keep a reservation.", {
    election,
  });
}

import {
  ConfigurationError,
  systemClock,
  UnsupportedError,
  type BreakOptions,
  type BreakOutcome,
  type CheckOptions,
  type CheckReport,
  type Clock,
  type LeaseSnapshot,
  type LeaseStore,
  type LeaseStoreCapabilities,
  type OccurrenceOptions,
  type ReadOptions,
  type RepairOptions,
  type RepairOutcome,
  type TransferOptions,
  type TransferOutcome,
} from "@leasehold/core";
import {
  cannotPause,
  Administration,
  checkName,
  checkTerm,
  checkValue,
  DEFAULT_REQUEST_TIMEOUT_MS,
  duration,
  timedCheck,
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
import { fenceOf } from "./fence.ts";
import { Holdings } from "./holding.ts";
import { watchHolding } from "./holding-watch.ts";
import { ElectionKeys } from "./keys.ts";
import { resolveOptions, type EtcdLeaseStoreOptions } from "./options.ts";
import type { StoreParts } from "./parts.ts";
import { probe } from "./probe.ts";
import { QueuePlace } from "./queue-place.ts";
import { ElectionReader } from "./reader.ts";
import { releaseLease } from "./release.ts";
import { publishValue, renewLease } from "./renewal.ts";
import { EtcdRequests } from "./requests.ts";
import { Retention } from "./retention.ts";
import type { EtcdCompare } from "./wire.ts";

/** The shortest lease that etcd grants with its default election time-out of a second: three halves of that, in whole seconds. */
const MIN_LEASE_MS = 2_000;
/** The longest that Node's timers can wait for, in whole seconds. */
const MAX_LEASE_MS = 2_147_483_000;
/** etcd takes requests of 1.5 MiB. */
const MAX_VALUE_BYTES = 65_536;

/**
 * A {@link LeaseStore} on etcd 3.4 or later, over its JSON gateway: an election is a queue of keys, each on a lease of its own, and
 * the oldest leads. Keys and values are those of Go's `concurrency.Election`, so that programs in Go and `etcdctl elect` compete in
 * the same elections.
 *
 * A term is the revision that the leader's key was made at: it rises with every term, and by more than 1. Nothing is left of an
 * election that nobody is a candidate of; then the last term is the highest that this process has seen.
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
    // The server looks for leases that have run out twice a second, and a request later their keys are gone.
    storeClock: { toleranceMs: 1_000, exact: true },
  };
  readonly clock: Clock;
  readonly #parts: StoreParts;
  readonly #administration: Administration;
  readonly #retentions = new Map<number, Retention>();

  /** @throws {ConfigurationError} for options that cannot work, before any request. */
  constructor(options: EtcdLeaseStoreOptions) {
    const { transport, prefix } = resolveOptions(options);
    const clock = options.clock ?? systemClock;
    const cluster = new Cluster();
    const requests = new EtcdRequests(transport, clock, cluster);
    this.clock = clock;
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

  /** Wins only where nobody is a candidate: whoever is in the queue comes first. */
  async acquire(request: AcquireRequest): Promise<AcquireOutcome> {
    checkRequest(request);
    return await acquireLease(this.#parts, request);
  }

  join(request: AcquireRequest, options: JoinOptions): Place {
    checkRequest(request);
    return new QueuePlace(this.#parts, request, options);
  }

  /** Two requests, of one attempt: a keep-alive, and a reading that proves it. */
  async renew(lease: Lease, limits: RequestLimits): Promise<RenewOutcome> {
    return await renewLease(this.#parts, this.#parts.holdings.of(lease), limits);
  }

  async publish(lease: Lease, value: string, limits: RequestLimits): Promise<RenewOutcome> {
    checkValue(value, MAX_VALUE_BYTES);
    return await publishValue(this.#parts, this.#parts.holdings.of(lease), value, limits);
  }

  /** A hold is rounded up to whole seconds, and to the least lease that the server grants. */
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

  /** While etcd pushes, once a lease: a watch may lose what it should tell. */
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

  /** Wakes the holder once its key is deleted, as where its session was revoked: until its next renewal it would lead beside the next one. */
  watchLease(lease: Lease, { signal }: WatchOptions): AsyncIterable<void> {
    return watchHolding(this.#parts, this.#parts.holdings.of(lease), signal);
  }

  /** @throws {UnsupportedError} for a leader in Go, which would not notice, unless `immediate`: then its key is deleted. */
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

  /** @throws {UnsupportedError} always: the next in the queue leads, whoever it is. */
  async transfer(election: string, _candidateId: string, _options?: TransferOptions): Promise<TransferOutcome> {
    checkName("election", election);
    throw new UnsupportedError(
      "An election on etcd is a queue: the next in it leads, and no other can be named. resign() makes way for it.",
      {
        election,
      },
    );
  }

  /**
   * Returns the occurrences of a schedule, a key each, on leases that end `retentionMs` or up to a sixteenth more after its last
   * write.
   */
  occurrences(election: string, { retentionMs }: OccurrenceOptions): EtcdOccurrenceStore {
    checkName("election", election);
    duration("retentionMs", retentionMs);
    const { clock, requests, keysOf } = this.#parts;
    return new EtcdOccurrenceStore(requests, clock, keysOf(election).occurrences, this.#retentionOf(retentionMs));
  }

  /**
   * Returns the conditions for the `compare` of your own transaction, as etcd's gateway takes them: with them it is carried out only
   * while this leadership lasts, whatever this process believes. Sends nothing.
   *
   * @example
   * ```ts
   * const transaction = { compare: [...store.fence(leadership)], success: [{ request_put: { key, value } }] };
   * ```
   */
  fence(leadership: Fenced): readonly EtcdCompare[] {
    return fenceOf(this.#parts.keysOf(leadership.election), leadership);
  }

  /** Shares its leases among all stores of occurrences that are kept for so long. */
  #retentionOf(retentionMs: number): Retention {
    const { clock, requests } = this.#parts;
    const retention = this.#retentions.get(retentionMs) ?? new Retention(requests, clock, retentionMs);
    this.#retentions.set(retentionMs, retention);
    return retention;
  }
}

/** @throws {ConfigurationError} {UnsupportedError} for what etcd cannot do. */
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
  throw new UnsupportedError("etcd keeps nothing of an election that nobody is a candidate of, and so no reservation.", {
    election,
  });
}

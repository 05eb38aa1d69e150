import type { BlobClient } from "@azure/storage-blob";
import {
  ConfigurationError,
  UnsupportedError,
  type Leadership,
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
  type OccurrenceStore,
  cannotPause,
  checkList,
  LIST_PAGE_SIZE,
  Administration,
  checkName,
  checkReservation,
  checkTerm,
  checkValue,
  DEFAULT_REQUEST_TIMEOUT_MS,
  duration,
  RecordLeaseStore,
  RecordOccurrenceStore,
  ServiceClock,
  timedCheck,
  type AcquireOutcome,
  type AcquireRequest,
  type Lease,
  type RecordStore,
  type ReleaseOptions,
  type ReleaseOutcome,
  type RenewOutcome,
  type RequestLimits,
} from "@leasehold/core/provider";
import { acquireLease } from "./acquisition.ts";
import { administered } from "./administration.ts";
import { STORE_NAME } from "./azure-blob-errors.ts";
import { BlobRecordStore } from "./blob-record-store.ts";
import { deleteFenced, sealBlob, uploadFenced, type FencedUploadOptions, type FenceOptions } from "./fence.ts";
import { ClockProbes } from "./clock-probes.ts";
import { nextLookAtGridMs } from "./grid-aim.ts";
import { Holdings } from "./holding.ts";
import { resolvePlace, type BlobLeaseStoreOptions, type BlobPlace } from "./options.ts";
import { Orphans } from "./orphans.ts";
import type { StoreParts } from "./parts.ts";
import { BlobReader } from "./reader.ts";
import { releaseLease } from "./release.ts";
import { publishValue, renewLease } from "./renewal.ts";
import { BlobRequests, type CallLimits } from "./requests.ts";
import { MAX_LEASE_MS } from "./observed-blob.ts";

/** The shortest lease that the service gives: https://learn.microsoft.com/rest/api/storageservices/lease-blob */
const MIN_LEASE_MS = 15_000;
/** A blob's metadata may have 8 KiB. A value of 2 KiB takes up to three times its size when it is percent-encoded. */
const MAX_VALUE_BYTES = 2_048;

/**
 * A {@link LeaseStore} on Azure Blob Storage. Each election has one blob, whose native lease is the election's lease. The service
 * itself ends the lease. Term, holder and value are metadata, written under the lease.
 *
 * The first candidate creates the blob, which is never deleted. It creates the container only with `createContainer`. Every
 * request is sent once: the SDK's retries are off, whatever the given client's options say. Candidates need *Storage Blob Data
 * Contributor* on the container, observers *Storage Blob Data Reader*.
 *
 * @example
 * ```ts
 * const store = new BlobLeaseStore({ accountUrl: "https://acme.blob.core.windows.net", containerName: "leases" });
 * const elector = new Elector({ store, election: "nightly-billing", leaseDurationMs: 15_000 });
 * ```
 */
export class BlobLeaseStore implements LeaseStore {
  readonly name: string = STORE_NAME;
  readonly capabilities: LeaseStoreCapabilities = {
    expiry: "native",
    watch: "poll",
    minLeaseMs: MIN_LEASE_MS,
    maxLeaseMs: MAX_LEASE_MS,
    leaseGranularityMs: 1_000,
    maxValueBytes: MAX_VALUE_BYTES,
    fence: "after-seal",
    transfer: { drain: "remaining-lease" },
    storeClock: undefined,
    // Two dates of the service measure how long a reservation has lasted. Each date is in whole seconds, so the reservation may
    // last almost 2 s longer.
    reservation: { toleranceMs: 2_000 },
    list: true,
  };
  readonly clock: Clock;
  readonly #place: BlobPlace;
  readonly #parts: StoreParts;
  readonly #administration: Administration;
  #records: RecordStore | undefined;
  #fleets: RecordLeaseStore | undefined;

  /** @throws {ConfigurationError} unless exactly one way to reach the container is given, in a valid form. */
  constructor(options: BlobLeaseStoreOptions) {
    this.#place = resolvePlace(options);
    const clock = options.clock ?? systemClock;
    this.clock = clock;
    const serviceClock = new ServiceClock();
    const requests = new BlobRequests(this.#place, clock, serviceClock);
    const holdings = new Holdings(clock);
    const reader = new BlobReader(clock, requests, holdings);
    const orphans = new Orphans(clock, requests);
    const probes = new ClockProbes(clock, serviceClock, reader);
    this.#parts = { clock, serviceClock, requests, reader, holdings, orphans, probes };
    this.#administration = new Administration(administered(this.#parts));
  }

  /**
   * Records for a `QuorumLeaseStore` that has this store as a member. Each is in a blob of its own, below `records/`, and its
   * writes are conditional on the blob's ETag. Records do not use native leases, and do not contain this store's leases.
   *
   * @throws {ConfigurationError} if the store holds a single blob.
   */
  get records(): RecordStore {
    this.#records ??= new BlobRecordStore(this.#place, this.#place.recordPrefix(), true);
    return this.#records;
  }

  /** The store of the `records` of fleets. A `Fleet` finds it by itself. @throws {ConfigurationError} as `records` does. */
  get fleets(): RecordLeaseStore {
    return (this.#fleets ??= new RecordLeaseStore(this.records, { clock: this.clock }));
  }

  async acquire(request: AcquireRequest): Promise<AcquireOutcome> {
    checkAcquire(request);
    return await acquireLease(this.#parts, request);
  }

  async renew(lease: Lease, limits: RequestLimits): Promise<RenewOutcome> {
    return await renewLease(this.#parts, this.#parts.holdings.of(lease), limits);
  }

  async publish(lease: Lease, value: string, limits: RequestLimits): Promise<RenewOutcome> {
    checkValue(value, MAX_VALUE_BYTES);
    return await publishValue(this.#parts, this.#parts.holdings.of(lease), value, limits);
  }

  /** A hold is rounded up to whole seconds, 60 at most. The lease is breaking for that time. */
  async release(lease: Lease, options: ReleaseOptions): Promise<ReleaseOutcome> {
    return await releaseLease(this.#parts, this.#parts.holdings.of(lease), options);
  }

  forget(lease: Lease): void {
    const { reader, holdings } = this.#parts;
    reader.sawEnd(holdings.of(lease));
  }

  async read(election: string, options: ReadOptions = {}): Promise<LeaseSnapshot | undefined> {
    checkName("election", election);
    const { reader, orphans } = this.#parts;
    const limits = { timeoutMs: options.timeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS, signal: options.signal };
    let found = await reader.read(election, limits);
    if (found?.leaseState === "leased" && (await orphans.freeSeen(election, found, limits)))
      found = await reader.read(election, limits);
    return found && reader.snapshot(election, found);
  }

  async check({ election, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal }: CheckOptions): Promise<CheckReport> {
    checkName("election", election);
    const { requests, reader } = this.#parts;
    const limits = { timeoutMs, signal };
    return await timedCheck(
      this.clock,
      () => reader.read(election, limits),
      () => requests.probe(election, limits),
    );
  }

  /**
   * Uses the service's listing, which also shows the state of each lease. A breaking or broken lease takes one more request, for
   * its note.
   */
  list(prefix: string = "", options: ListOptions = {}): AsyncIterable<ListedElection> {
    checkList(prefix, options);
    const { timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
    return this.#list(prefix, { timeoutMs, signal });
  }

  async *#list(prefix: string, limits: CallLimits): AsyncGenerator<ListedElection> {
    let from: string | undefined;
    do {
      const page = { pageSize: LIST_PAGE_SIZE, from };
      const { elections, next } = await this.#parts.reader.list(prefix, page, limits);
      for (const entry of elections) {
        limits.signal?.throwIfAborted();
        yield entry;
      }
      from = next;
    } while (from !== undefined);
  }

  nextLookMs(election: string, retryPeriodMs: number): number {
    const { clock, serviceClock, reader } = this.#parts;
    const last = reader.last(election);
    reader.keep(election, 2 * retryPeriodMs);
    const { grid, leaseDurationMs } = last?.term ?? {};
    const aimMs =
      last?.leaseState === "leased" && grid && leaseDurationMs !== undefined
        ? nextLookAtGridMs({ clock, serviceClock, grid, leaseDurationMs, retryPeriodMs })
        : undefined;
    return aimMs ?? retryPeriodMs * (0.8 + clock.random() / 5);
  }

  async break(election: string, options: BreakOptions): Promise<BreakOutcome> {
    return await this.#administration.break(election, options);
  }

  /** @throws {UnsupportedError} always, because only the holder of the lease writes the term. */
  async repair(election: string, _options?: RepairOptions): Promise<RepairOutcome> {
    checkName("election", election);
    throw new UnsupportedError(
      "Only the holder of a blob's lease can write its term. Start the candidates with a minTerm above every term that was seen.",
      { election },
    );
  }

  /** @throws {UnsupportedError} always, because this store cannot record a pause. */
  async pause(election: string): Promise<never> {
    return cannotPause(this.name, election);
  }

  async resume(election: string): Promise<never> {
    return cannotPause(this.name, election);
  }

  /**
   * Breaks the lease in favour of the candidate. The leader learns of it at its next renewal, and drains in the rest of the
   * lease. If the leader releases before it has learned of the transfer, the transfer fails (`expired`).
   */
  async transfer(election: string, candidateId: string, options?: TransferOptions): Promise<TransferOutcome> {
    return await this.#administration.transfer(election, candidateId, options);
  }

  /**
   * Returns the occurrences of an election's schedule. Each is a small blob below `ticks/` in the same container, without a
   * lease. A blob has no expiry of its own, so the occurrences are kept until your lifecycle rule for that prefix deletes them.
   *
   * @throws {ConfigurationError} if the store was given one blob instead of a container.
   */
  occurrences(election: string, { retentionMs }: OccurrenceOptions): OccurrenceStore {
    checkName("election", election);
    duration("retentionMs", retentionMs);
    const records = new BlobRecordStore(this.#place, this.#place.occurrencePrefix(election));
    return new RecordOccurrenceStore(records, { clock: this.clock });
  }

  /** See {@link sealBlob}. @throws {FencedError} if a newer term has sealed or written the blob. */
  async seal(leadership: Leadership, blob: BlobClient, options: FenceOptions = {}): Promise<void> {
    await sealBlob(this.clock, leadership, blob, options);
  }

  /** See {@link uploadFenced}. @throws {FencedError} if the service refused it; nothing was written. */
  async fencedUpload(
    leadership: Leadership,
    blob: BlobClient,
    content: string | Uint8Array,
    options: FencedUploadOptions = {},
  ): Promise<void> {
    await uploadFenced(this.clock, leadership, blob, content, options);
  }

  /** See {@link deleteFenced}. @throws {FencedError} if the service refused it; the blob still exists. */
  async fencedDelete(leadership: Leadership, blob: BlobClient, options: FenceOptions = {}): Promise<void> {
    await deleteFenced(this.clock, leadership, blob, options);
  }
}

/** @throws {ConfigurationError} for a request that cannot succeed in any state of the blob. */
function checkAcquire({ election, candidateId, value, leaseDurationMs, minTerm, reservation }: AcquireRequest): void {
  checkName("election", election);
  checkName("candidateId", candidateId);
  if (value !== undefined) checkValue(value, MAX_VALUE_BYTES);
  if (leaseDurationMs < MIN_LEASE_MS || leaseDurationMs > MAX_LEASE_MS || leaseDurationMs % 1_000 !== 0) {
    throw new ConfigurationError(
      `leaseDurationMs is ${leaseDurationMs}; Azure leases a blob for 15,000 to 60,000 ms, in whole seconds.`,
    );
  }
  checkTerm("minTerm", minTerm);
  if (reservation) checkReservation(reservation);
}

import { ConfigurationError } from "../reporting/errors.ts";
import type { StoreWarnings } from "../reporting/journal.ts";
import { Administration, type OrderLimits, type ElectionState } from "../store/administration.ts";
import { timedCheck } from "../store/request.ts";
import { cannotList, checkList, type ListedElection, type ListOptions } from "../store/listing.ts";
import { checkLease, DEFAULT_REQUEST_TIMEOUT_MS, duration, shortestLeaseMs } from "../store/lease-limits.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { LeaseStoreCapabilities } from "../store/capabilities.ts";
import type {
  AcquireOutcome,
  AcquireRequest,
  CheckOptions,
  CheckReport,
  CompleteOptions,
  Lease,
  LeaseStore,
  OccurrenceStore,
  ReadOptions,
  ReleaseOptions,
  ReleaseOutcome,
  RenewOutcome,
  RequestLimits,
} from "../store/lease-store.ts";
import type {
  AdminCallOptions,
  BreakOptions,
  BreakOutcome,
  PauseOptions,
  PauseOutcome,
  RepairOptions,
  RepairOutcome,
  ResumeOutcome,
  TransferOptions,
  TransferOutcome,
} from "../store/admin-calls.ts";
import { checkName, checkReservation, checkTerm, checkValue } from "../store/names.ts";
import { MAX_TIMER_MS, systemClock, type Clock } from "../time/clock.ts";
import { barOf } from "./bars.ts";
import { Acquisitions } from "./acquisitions.ts";
import { HeldLeases, type Vacating } from "./held-leases.ts";
import { ordered } from "./record-orders.ts";
import { pauseRecord, resumeRecord, repairRecord } from "./record-change.ts";
import { snapshotOf } from "./record-snapshot.ts";
import type { LeaseRecord, RecordStore } from "./record-store.ts";
import { RecordCache } from "./record-cache.ts";

export interface RecordLeaseStoreOptions {
  /** @defaultValue the system's clock */
  readonly clock?: Clock | undefined;
}

/**
 * A {@link LeaseStore} over any service that offers compare-and-swap on one record. It handles terms, nonces, lost replies,
 * breaks and transfers for every provider, and judges expiry without trusting clocks.
 */
export class RecordLeaseStore implements LeaseStore {
  readonly name: string;
  readonly clock: Clock;
  readonly capabilities: LeaseStoreCapabilities;
  readonly warnings: StoreWarnings | undefined;
  readonly records: RecordStore;
  readonly watch?: NonNullable<LeaseStore["watch"]>;
  readonly #seen: RecordCache;
  readonly #leases: HeldLeases;
  readonly #acquisitions: Acquisitions;
  readonly #administration: Administration;

  constructor(records: RecordStore, options: RecordLeaseStoreOptions = {}) {
    const complete =
      typeof records?.get === "function" && typeof records.put === "function" && typeof records.capabilities === "object";
    if (!complete)
      throw new ConfigurationError("RecordLeaseStore needs a RecordStore: an object with get, put and capabilities.");
    this.name = records.name;
    this.records = records;
    this.warnings = records.warnings;
    this.clock = options.clock ?? systemClock;
    this.capabilities = capabilitiesOf(records);
    this.#seen = new RecordCache(records, this.clock);
    this.#leases = new HeldLeases(this.#seen);
    this.#acquisitions = new Acquisitions(this.#seen, this.#leases);
    this.#administration = new Administration({
      name: this.name,
      clock: this.clock,
      read: (election, limits) => this.#state(election, limits),
    });
    const watch = records.watch?.bind(records);
    if (watch) {
      this.watch = (election, watching) => {
        checkName("election", election);
        return watch(election, watching);
      };
    }
  }

  async acquire(request: AcquireRequest): Promise<AcquireOutcome> {
    checkName("election", request.election);
    checkName("candidateId", request.candidateId);
    if (request.value !== undefined) checkValue(request.value, this.capabilities.maxValueBytes);
    checkLease(request.leaseDurationMs, this.capabilities);
    duration("renewIntervalMs", request.renewIntervalMs);
    checkTerm("minTerm", request.minTerm);
    if (request.reservation) checkReservation(request.reservation);
    return await this.#acquisitions.attempt(request);
  }

  async renew(lease: Lease, limits: RequestLimits): Promise<RenewOutcome> {
    return await this.#leases.write(lease, limits, (record) => record);
  }

  async publish(lease: Lease, value: string, limits: RequestLimits): Promise<RenewOutcome> {
    checkValue(value, this.capabilities.maxValueBytes);
    return await this.#leases.write(lease, limits, (record) => (record.value === value ? record : { ...record, value }));
  }

  async release(lease: Lease, options: ReleaseOptions): Promise<ReleaseOutcome> {
    return await this.vacate(lease, options);
  }

  protected async vacate(lease: Lease, vacating: Vacating): Promise<ReleaseOutcome> {
    return await this.#leases.vacate(lease, vacating);
  }

  async read(election: string, options: ReadOptions = {}): Promise<LeaseSnapshot | undefined> {
    checkName("election", election);
    const { expiry, signal, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS } = options;
    return await this.#seen.poll(election, { timeoutMs, signal }, expiry);
  }

  async check(options: CheckOptions): Promise<CheckReport> {
    const { election, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal, settings = true } = options;
    checkName("election", election);
    const limits = { timeoutMs, signal };
    const report = await timedCheck(
      this.clock,
      () => this.#seen.read(election, limits),
      () => this.#seen.probe(election, limits),
    );
    return settings ? { ...report, fenceTerm: await this.#seen.fenceTerm(election, limits) } : report;
  }

  list(prefix: string = "", options: ListOptions = {}): AsyncIterable<ListedElection> {
    if (!this.capabilities.list) return cannotList(this.name, prefix, options);
    checkList(prefix, options);
    const { timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
    return this.#seen.list(prefix, { timeoutMs, signal });
  }

  nextLookMs(election: string, retryPeriodMs: number): number {
    const observed = this.#seen.last(election);
    if (!observed) return retryPeriodMs;
    // A standby that waits for the lease to expire needs the observation again.
    this.#seen.keep(election, 2 * Math.max(retryPeriodMs, observed.record.leaseDurationMs));
    const untilExpiryMs = Math.max(observed.record.leaseDurationMs - observed.ageMs("observed")[0], 0) + 1;
    // Free, but not acquired: the race was lost, a reservation blocks it, or nobody competes here. Jitter keeps the losers apart.
    if (observed.record.termId === null || untilExpiryMs <= 1) return retryPeriodMs * (0.5 + this.clock.random() / 2);
    const untilRenewalMs = observed.nextRenewalPollMs();
    if (this.watch) return Math.min(untilExpiryMs, untilRenewalMs);
    // A poll that is due now is one poll.
    const polls = Math.max(1, Math.ceil(untilRenewalMs / retryPeriodMs));
    return Math.min(untilExpiryMs, untilRenewalMs / polls);
  }

  async break(election: string, options: BreakOptions): Promise<BreakOutcome> {
    return await this.#administration.break(election, options);
  }

  async transfer(election: string, candidateId: string, options?: TransferOptions): Promise<TransferOutcome> {
    return await this.#administration.transfer(election, candidateId, options);
  }

  async repair(election: string, options?: RepairOptions): Promise<RepairOutcome> {
    if (options?.leaseDurationMs !== undefined) checkLease(options.leaseDurationMs, this.capabilities);
    return await repairRecord(this.#seen, election, options);
  }

  async pause(election: string, options: PauseOptions): Promise<PauseOutcome> {
    return await pauseRecord(this.#seen, election, options);
  }

  async resume(election: string, options?: AdminCallOptions): Promise<ResumeOutcome> {
    return await resumeRecord(this.#seen, election, options);
  }

  /** Only the record counts here, and not the terms that this process has abandoned. */
  async #state(election: string, limits: OrderLimits): Promise<ElectionState | undefined> {
    const observed = await this.#seen.read(election, limits);
    if (!observed) return undefined;
    const { record, version } = observed;
    const view = { expiry: "observed" } as const;
    const write = async (changed: LeaseRecord): Promise<boolean> =>
      (await this.#seen.write(election, changed, { record, version }, limits)) !== undefined;
    const snapshot = snapshotOf(election, observed, view);
    return {
      snapshot,
      ...(barOf(record, "pause") ? { beneathPause: snapshotOf(election, observed, { ...view, ignoresPause: true }) } : {}),
      lastHolder: record.candidateId ?? undefined,
      isCarriedOut: ({ id }) => record.broken?.id === id || barOf(record, "transfer")?.id === id,
      carryOut: (order) => write(ordered(record, snapshot, order, this.clock.randomUuid())),
      ...(this.#seen.showsUndurable ? { confirm: () => write(record) } : {}),
    };
  }
}

/** An {@link OccurrenceStore} over a service that offers compare-and-swap on one record for each occurrence. */
export class RecordOccurrenceStore extends RecordLeaseStore implements OccurrenceStore {
  async complete(lease: Lease, { timeoutMs, completion }: CompleteOptions): Promise<ReleaseOutcome> {
    const value = completion && JSON.stringify(completion);
    if (value !== undefined) checkValue(value, this.capabilities.maxValueBytes);
    return await this.vacate(lease, { timeoutMs, done: true, value });
  }
}

function capabilitiesOf(records: RecordStore): LeaseStoreCapabilities {
  const { storeClock, showsUndurable } = records.capabilities;
  return {
    ...records.capabilities,
    // Three: a write whose reply was lost, a read that finds it, and the write that makes it count.
    roundTrips: records.capabilities.roundTrips ?? (showsUndurable ? 3 : undefined),
    expiry: "observed",
    watch: records.watch ? "push" : "poll",
    minLeaseMs: shortestLeaseMs(storeClock),
    maxLeaseMs: MAX_TIMER_MS,
    leaseGranularityMs: 1,
    transfer: { drain: "full" },
    repair: true,
    pause: true,
    ...(records.list ? { list: true } : {}),
    reservation: storeClock && { toleranceMs: storeClock.toleranceMs },
  };
}

import { Administration, type OrderLimits, type Standing } from "../store/administration.ts";
import { barOf, mayAcquire } from "../store/bar.ts";
import { shareLimits } from "../store/call-limits.ts";
import { instantOf, systemClock, sleep, type Clock, type Instant } from "../time/clock.ts";
import {
  ConfigurationError,
  ForeignRecordError,
  isLeaseholdError,
  isUnknown,
  StoreError,
  TermRegressedError,
  UnsupportedError,
} from "../reporting/errors.ts";
import type {
  AcquireOutcome,
  AcquireRequest,
  BreakOptions,
  BreakOutcome,
  Lease,
  LeaseSnapshot,
  LeaseState,
  LeaseStore,
  LeaseStoreCapabilities,
  ReadOptions,
  ReleaseOptions,
  ReleaseOutcome,
  RenewOutcome,
  RequestLimits,
  TransferOptions,
  TransferOutcome,
  WatchOptions,
} from "../store/lease-store.ts";
import { Holding, type Found } from "./holding.ts";
import { checkName, checkReservation, checkTerm, checkValue } from "../store/names.ts";
import { fenceOf, parseLeaseRecord, type LeaseRecord, type RecordStore, type StoredRecord } from "./record-store.ts";
import { Recent } from "../time/recent.ts";
import { ordered, vacate } from "./record-orders.ts";
import { sendRequest } from "../store/request.ts";
import { Sighting } from "./sighting.ts";
import type { Reading } from "./store-age.ts";
import { checkLease, DEFAULT_REQUEST_TIMEOUT_MS, duration, MAX_LEASE_MS, shortestLeaseMs } from "../store/lease-limits.ts";

/** How often a conditional write of ours is tried against other writers of the same term before the call gives up. */
const CONFLICT_TRIES = 4;
/** How long to wait before a write that met a transaction of somebody else's is sent again, at most. */
const CONFLICT_WAIT_MS = 20;

export interface RecordLeaseStoreOptions {
  /** @defaultValue the system's clock */
  readonly clock?: Clock | undefined;
}

/** What a provider adds to its users' options where its records are occurrences. */
export interface OccurrenceStoreOptions extends RecordLeaseStoreOptions {
  /** The records are occurrences: they may be completed, and expire. */
  readonly occurrences?: boolean | undefined;
}

/** A term on which nobody leads. */
interface Abandoned {
  /** What its last write was conditional on. */
  readonly ifVersion: string | undefined;
  /** The end of its hold, by the monotonic clock. */
  readonly heldUntilMs: number;
}

/**
 * A {@link LeaseStore} over any service that offers compare-and-swap on one record. Expiry without trusting clocks,
 * terms, nonces, lost replies, break and transfer are decided here, once for every provider.
 *
 * How it tells that a lease has expired: a nonce that this process has seen unchanged for the whole duration written
 * in the record (the scheme of Kubernetes' client-go and of AWS's DynamoDB lock client), or the store's own clock.
 */
export class RecordLeaseStore implements LeaseStore {
  readonly name: string;
  readonly capabilities: LeaseStoreCapabilities;
  readonly watch?: (election: string, options: WatchOptions) => AsyncIterable<LeaseSnapshot | undefined>;
  readonly #records: RecordStore;
  readonly #clock: Clock;
  readonly #administration: Administration;
  readonly #sightings: Recent<Sighting>;
  /** The elections that had no record when this process last looked. */
  readonly #absent: Recent<true>;
  readonly #holdings = new WeakMap<Lease, Holding>();
  /**
   * By election and termId: terms of this process on which nobody leads (any more), because the reply to their
   * acquisition was lost or their release may have been. Found in the store, they count as vacant.
   */
  readonly #abandoned: Recent<Map<string, Abandoned>>;

  constructor(records: RecordStore, options: OccurrenceStoreOptions = {}) {
    const complete =
      typeof records?.get === "function" && typeof records.put === "function" && typeof records.capabilities === "object";
    if (!complete)
      throw new ConfigurationError("RecordLeaseStore needs a RecordStore: an object with get, put and capabilities.");
    this.#records = records;
    this.#clock = options.clock ?? systemClock;
    this.#sightings = new Recent(this.#clock);
    this.#absent = new Recent(this.#clock);
    this.#abandoned = new Recent(this.#clock);
    this.name = records.name;
    this.#administration = new Administration({
      name: records.name,
      clock: this.#clock,
      look: (election, limits) => this.#standing(election, limits),
    });
    this.capabilities = {
      expiry: "observed",
      watch: records.watch ? "push" : "poll",
      ...(records.watch ? { pushes: records.capabilities.pushes ?? "every-write" } : {}),
      minLeaseMs: shortestLeaseMs(records.capabilities.storeClock),
      maxLeaseMs: MAX_LEASE_MS,
      leaseGranularityMs: 1,
      maxValueBytes: records.capabilities.maxValueBytes,
      fence: records.capabilities.fence,
      transfer: { drain: "full" },
      storeClock: records.capabilities.storeClock,
      reservation: records.capabilities.storeClock && { toleranceMs: records.capabilities.storeClock.toleranceMs },
      completion: options.occurrences ?? false,
    };
    if (records.watch) this.watch = (election, watching) => this.#watch(election, watching);
  }

  get clock(): Clock {
    return this.#clock;
  }

  async acquire(request: AcquireRequest): Promise<AcquireOutcome> {
    const { election } = request;
    checkName("election", election);
    checkName("candidateId", request.candidateId);
    if (request.value !== undefined) checkValue(request.value, this.capabilities.maxValueBytes);
    checkLease(request.leaseDurationMs, this.capabilities);
    duration("renewIntervalMs", request.renewIntervalMs);
    checkTerm("minTerm", request.minTerm);
    if (request.reservation) checkReservation(request.reservation);
    // What this process saw last is good enough to try on, unless it is known to be old: the write is conditional on its version.
    const remembered = this.#sightings.get(election);
    const usable = remembered && !remembered.outdated && remembered.record.term >= (request.aboveTerm ?? 0);
    const absent = this.#absent.get(election) === true && !request.aboveTerm;
    const sighting = usable || absent ? remembered : await this.#look(election, request);
    const useStoreClock = request.expiry === "store-clock" || this.#clockIsExact;
    const current = sighting && this.#snapshot(election, sighting, useStoreClock);
    if (current && !mayAcquire(current, request.candidateId, request.reservation?.group)) {
      if (current.undated) await this.#put(election, sighting.record, sighting, request, false);
      return { acquired: false, current };
    }

    const term = Math.max((sighting?.record.term ?? 0) + 1, request.minTerm ?? 1);
    if (term <= (request.aboveTerm ?? 0)) {
      throw new TermRegressedError(election, term - 1, request.aboveTerm ?? 0);
    }
    checkTerm("the next term", term);
    const record: LeaseRecord = {
      schema: 1,
      term,
      termId: this.#clock.randomUuid(),
      candidateId: request.candidateId,
      ...(request.value === undefined ? {} : { value: request.value }),
      nonce: this.#clock.randomUuid(),
      leaseDurationMs: request.leaseDurationMs,
      renewIntervalMs: request.renewIntervalMs,
      ...(request.reservation ? { reservation: request.reservation } : {}),
    };
    const grantedAt = instantOf(this.#clock);
    // What was seen last may change while the request is under way.
    const ifVersion = sighting?.version;
    try {
      const version = await this.#put(election, record, sighting, request);
      if (version !== undefined) return { acquired: true, lease: this.#hold(record, version, grantedAt, election) };
    } catch (error) {
      if (!isUnknown(error)) throw error;
      return await this.#resolveAcquire(record, ifVersion, grantedAt, request, error as Error);
    }
    // The race is lost, unless the network has delivered our write twice and the second one's answer has come.
    const known = this.#known(election, useStoreClock);
    const winner = this.#sightings.get(election)?.record.termId;
    if (known && winner !== record.termId) return { acquired: false, current: known };
    return await this.#resolveAcquire(record, ifVersion, grantedAt, request, undefined);
  }

  async renew(lease: Lease, limits: RequestLimits): Promise<RenewOutcome> {
    return await this.#write(lease, limits, (record) => record);
  }

  async publish(lease: Lease, value: string, limits: RequestLimits): Promise<RenewOutcome> {
    checkValue(value, this.capabilities.maxValueBytes);
    return await this.#write(lease, limits, (record) => (record.value === value ? record : { ...record, value }));
  }

  async release(lease: Lease, options: ReleaseOptions): Promise<ReleaseOutcome> {
    const { holdMs, done } = options;
    const holding = this.#holding(lease);
    if (done && !this.capabilities.completion) {
      throw new UnsupportedError("Only an occurrence can be completed: an election goes on.", { election: lease.election });
    }
    const limits = shareLimits(this.#clock, options);
    // Whatever becomes of the request, nobody leads on this term any more.
    this.#abandon(lease.election, lease.termId, holding.version, holdMs);
    for (let tries = 0; tries < CONFLICT_TRIES; tries += 1) {
      // A broken term may still be released by its holder: that only shortens the wait.
      if (await this.#catchUp(lease, holding, limits)) {
        const found = this.#sightings.get(lease.election)?.record;
        const arrived = found && holding.resolveRelease(found) && (found.done ?? false) === (done ?? false);
        return arrived ? "released" : "not-held";
      }
      const vacated: LeaseRecord = {
        ...vacate(holding.record, this.#clock.randomUuid()),
        // A break lifts a hold, also one that begins only now.
        ...(holdMs === undefined || holdMs <= 0 || holding.record.broken ? {} : { holdMs }),
        ...(done ? { done } : {}),
      };
      holding.releasing(vacated.nonce);
      if ((await this.#put(lease.election, vacated, holding, limits)) === undefined) {
        holding.overtake();
        continue;
      }
      holding.resolveRelease(vacated);
      return "released";
    }
    throw this.#conflict("release", lease.election);
  }

  async read(election: string, options: ReadOptions = {}): Promise<LeaseSnapshot | undefined> {
    checkName("election", election);
    const limits = { timeoutMs: options.timeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS, signal: options.signal };
    const useStoreClock = options.expiry === "store-clock" || this.#clockIsExact;
    // The first reading is what all later ones are compared with; and a store's clock tells the age of what is there now.
    let sighting = await this.#look(election, limits, useStoreClock || !this.#sightings.get(election));
    // Where no other clock has a say in what the store's tells, two readings have to agree.
    if (useStoreClock && sighting?.wantsConfirmation) sighting = await this.#look(election, limits);
    return sighting && this.#snapshot(election, sighting, useStoreClock);
  }

  nextLookMs(election: string, retryPeriodMs: number): number {
    const sighting = this.#sightings.get(election);
    if (!sighting) return retryPeriodMs;
    // Whoever waits for the lease to expire comes back to what was seen of it.
    this.#sightings.keep(election, 2 * Math.max(retryPeriodMs, sighting.record.leaseDurationMs));
    // Vacant all the same: a lost race, or a reservation. Jitter keeps the losers apart.
    if (sighting.record.termId === null) return retryPeriodMs * (0.5 + this.#clock.random() / 2);
    const [ageMs] = sighting.ageMs(this.#clockIsExact);
    const untilExpiryMs = Math.max(sighting.record.leaseDurationMs - ageMs, 0) + 1;
    // Expired all the same: somebody else's turn, or nobody competes here.
    if (untilExpiryMs <= 1) return retryPeriodMs * (0.5 + this.#clock.random() / 2);
    if (this.capabilities.pushes === "every-write") return untilExpiryMs;
    const untilRenewalMs = sighting.nextRenewalLookMs();
    if (this.watch) return Math.min(untilExpiryMs, untilRenewalMs);
    const looks = Math.max(1, Math.ceil(untilRenewalMs / retryPeriodMs));
    return Math.min(untilExpiryMs, untilRenewalMs / looks);
  }

  async break(election: string, options: BreakOptions): Promise<BreakOutcome> {
    return await this.#administration.break(election, options);
  }

  async transfer(election: string, candidateId: string, options?: TransferOptions): Promise<TransferOutcome> {
    return await this.#administration.transfer(election, candidateId, options);
  }

  get #clockIsExact(): boolean {
    return this.capabilities.storeClock?.exact ?? false;
  }

  /**
   * Renews or publishes: one conditional write of our own record with a fresh nonce. Where the outcome of an earlier one
   * is unknown, this one is conditional on the same version: at most one of them can arrive.
   */
  async #write(lease: Lease, given: RequestLimits, change: (record: LeaseRecord) => LeaseRecord): Promise<RenewOutcome> {
    const holding = this.#holding(lease);
    const limits = shareLimits(this.#clock, given);
    for (let tries = 0; tries < CONFLICT_TRIES; tries += 1) {
      const gone = await this.#catchUp(lease, holding, limits);
      if (gone) return gone;
      const { broken } = holding.record;
      if (broken) return lost("broken", true, `an administrator broke it: ${broken.reason}`);
      const changed = change(holding.record);
      // A write believed lost had arrived, with all that this one is to change: that one counts, from its own send.
      const arrivedAt = holding.untold;
      if (arrivedAt && changed === holding.record) return this.#extended(holding, arrivedAt);
      const extendedAt = instantOf(this.#clock);
      const record = { ...changed, nonce: this.#clock.randomUuid() };
      holding.sending(record.nonce, extendedAt);
      const version = await this.#put(lease.election, record, holding, limits);
      if (version !== undefined) {
        holding.take({ record, version });
        return this.#extended(holding, extendedAt);
      }
      holding.overtake();
    }
    throw this.#conflict("renew", lease.election);
  }

  #extended(holding: Holding, extendedAt: Instant): RenewOutcome {
    holding.tell();
    const { transfer } = holding.record;
    return { held: true, extendedAt, ...(transfer ? { transferTo: transfer.candidateId } : {}) };
  }

  /**
   * Takes over what the store holds where a write of ours has met something else: another of ours whose reply was lost, or
   * an administrator's. It is read, unless the answer to that write has shown it. Returns how the lease was lost, if it was.
   */
  async #catchUp(
    lease: Lease,
    holding: Holding,
    limits: RequestLimits,
  ): Promise<Extract<RenewOutcome, { held: false }> | undefined> {
    if (!holding.overtaken) return undefined;
    const shown = this.#sightings.get(lease.election);
    const tells = shown && !shown.outdated && shown.version !== holding.version;
    const sighting = tells ? shown : await this.#look(lease.election, limits);
    if (!sighting) return lost("missing", false, "its record is gone from the store");
    const { record, version } = sighting;
    if (record.termId !== lease.termId) {
      return lost(
        "taken",
        false,
        record.termId === null ? "it was vacated" : `'${record.candidateId}' holds term ${record.term}`,
      );
    }
    holding.take({ record, version });
    return undefined;
  }

  /**
   * Finds out by reading whether an acquisition has arrived whose reply was lost, or tells nothing.
   * @param unknown what the reply's loss came to; `undefined` where there was a reply. It is thrown where nobody else has
   *   acquired instead: then the attempt has failed, and that is worth telling.
   */
  async #resolveAcquire(
    record: LeaseRecord,
    ifVersion: string | undefined,
    grantedAt: Instant,
    request: AcquireRequest,
    unknown: Error | undefined,
  ): Promise<AcquireOutcome> {
    const { election } = request;
    const sighting = await this.#look(election, request).catch(() => undefined);
    if (sighting && sighting.record.termId === record.termId && !sighting.record.broken) {
      return { acquired: true, lease: this.#hold(sighting.record, sighting.version, grantedAt, election) };
    }
    // From here on nobody leads on it. It may still be under way; should it arrive, it is known as abandoned.
    this.#abandon(election, record.termId ?? "", ifVersion);
    if (unknown && (!sighting || sighting.version === ifVersion)) throw unknown;
    return { acquired: false, current: this.#known(election, false) };
  }

  #abandon(election: string, termId: string, ifVersion: string | undefined, holdMs = 0): void {
    const abandoned = this.#abandoned.get(election) ?? new Map<string, Abandoned>();
    this.#abandoned.set(election, abandoned.set(termId, { ifVersion, heldUntilMs: this.#clock.monotonicMs() + holdMs }));
  }

  /** The election as an administrator finds it. */
  async #standing(election: string, limits: OrderLimits): Promise<Standing | undefined> {
    let sighting = await this.#look(election, limits);
    // What is reserved runs out by the store's clock, of which two readings may have to agree.
    if (sighting?.record.reservation && sighting.wantsConfirmation) sighting = await this.#look(election, limits);
    if (!sighting) return undefined;
    const snapshot = this.#snapshot(election, sighting, this.#clockIsExact, false);
    const { record, version } = sighting;
    const [ageMs] = sighting.ageMs(true);
    return {
      snapshot,
      lastHolder: record.candidateId ?? undefined,
      isCarriedOut: ({ id }) => record.broken?.id === id || record.transfer?.id === id,
      carryOut: async (order) => {
        const changed = ordered(record, { snapshot, ageMs }, order, this.#clock.randomUuid());
        return (await this.#put(election, changed, { record, version }, limits)) !== undefined;
      },
    };
  }

  async *#watch(election: string, options: WatchOptions): AsyncGenerator<LeaseSnapshot | undefined> {
    checkName("election", election);
    const watch = this.#records.watch?.(election, options) ?? [];
    for await (const stored of watch) {
      // What is pushed may be older than what a reply, or another watch, has shown meanwhile.
      if (this.#sightings.get(election)?.isPast(stored)) continue;
      const sighting = this.#saw(election, stored, { watch });
      yield sighting && this.#snapshot(election, sighting, this.#clockIsExact);
    }
  }

  /** @param settles whether a reply that a push may have overtaken is followed by another look: once, however much is pushed. */
  async #look(
    election: string,
    limits: RequestLimits & { readonly signal?: AbortSignal | undefined },
    consistent = true,
    settles = true,
  ): Promise<Sighting | undefined> {
    const sentAt = instantOf(this.#clock);
    const stored = await this.#send("get", election, limits, false, (signal) =>
      this.#records.get(election, { signal, consistent }),
    );
    const known = this.#sightings.get(election);
    // A replica that lags may show what has passed.
    if (!consistent && known?.isPast(stored)) return await this.#look(election, limits);
    // A push overtook this reply, or the other way round. What is asked for only now is newer than either.
    const isContested = known?.isContested(sentAt, stored) ?? false;
    if (isContested && settles) return await this.#look(election, limits, true, false);
    const sighting = this.#saw(election, stored, { sentAt });
    // Again: what was pushed may be the latest, so that no acquisition is to be turned down for what the reply says.
    if (isContested) sighting?.outdate();
    return sighting;
  }

  /** One conditional write. Returns the new version, or `undefined` if the condition failed. */
  async #put(
    election: string,
    record: LeaseRecord,
    found: Found | undefined,
    limits: RequestLimits,
    keepsNonce: boolean = record.nonce === found?.record.nonce,
  ): Promise<string | undefined> {
    const sentAt = instantOf(this.#clock);
    const ifVersion = found?.version;
    const fence = fenceOf(record);
    const passed = found && fenceOf(found.record);
    const fenceChanges = fence.term !== passed?.term || fence.termId !== passed.termId;
    const put = { ifVersion, keepsNonce, ...(fenceChanges ? { fence } : {}) };
    const outcome = await this.#sendUnlessConflict(election, limits, (signal) =>
      this.#records.put(election, record, { ...put, signal }),
    );
    if (outcome.stored) {
      this.#saw(election, { data: record, version: outcome.version }, { sentAt });
      return outcome.version;
    }
    this.#absent.delete(election);
    const sighting = this.#sightings.get(election);
    const isContested = sighting?.isContested(sentAt, outcome.current) ?? false;
    if (outcome.current && !isContested) this.#saw(election, outcome.current, { sentAt });
    // The service did not say what took the place of what we remember, or nobody can tell whether that is the latest.
    else if (isContested || sighting?.version === ifVersion) sighting?.outdate();
    return undefined;
  }

  /**
   * Sends a write again soon where it met somebody else's transaction, such as a fenced one on the same record, of which a
   * leader may have one after the other under way. It does so for half of its time: the last try has the other half.
   */
  async #sendUnlessConflict<T>(
    election: string,
    { timeoutMs }: RequestLimits,
    send: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const untilMs = this.#clock.monotonicMs() + timeoutMs;
    const leftMs = (): number => untilMs - this.#clock.monotonicMs();
    for (;;) {
      try {
        return await this.#send("put", election, { timeoutMs: leftMs() }, true, send);
      } catch (error) {
        if (isUnknown(error) || !isLeaseholdError(error, "STORE_CONFLICT")) throw error;
        const waitMs = CONFLICT_WAIT_MS * (0.5 + this.#clock.random() / 2);
        if (leftMs() - waitMs < timeoutMs / 2) throw error;
        await sleep(this.#clock, waitMs);
        // A process that was frozen meanwhile has written nothing, for certain.
        if (leftMs() <= 0) throw error;
      }
    }
  }

  async #send<T>(
    operation: string,
    election: string,
    limits: RequestLimits & { readonly signal?: AbortSignal | undefined },
    writes: boolean,
    send: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { timeoutMs, signal } = limits;
    return await sendRequest({ clock: this.#clock, store: this.name, election, operation, timeoutMs, writes, signal }, send);
  }

  #saw(election: string, stored: StoredRecord | undefined, how: Pick<Reading, "sentAt" | "watch">): Sighting | undefined {
    const known = this.#sightings.get(election);
    if (known?.overtook(how.sentAt)) return known;
    this.#absent.delete(election);
    if (!stored) {
      this.#sightings.delete(election);
      this.#absent.set(election, true);
      return undefined;
    }
    const record = parseLeaseRecord(stored.data);
    if ("problem" in record) {
      this.#sightings.delete(election);
      throw new ForeignRecordError(election, `the record in ${this.name}`, record.problem);
    }
    const abandoned = this.#abandoned.get(election);
    for (const [termId, { ifVersion }] of abandoned ?? []) {
      // A write conditional on a version that has passed can no longer arrive.
      if (stored.version !== ifVersion && record.termId !== termId) abandoned?.delete(termId);
    }
    if (abandoned?.size === 0) this.#abandoned.delete(election);
    const { version, nonceAgeMs, nonceWallMs } = stored;
    const reading = { record, version, nonceAgeMs, nonceWallMs, ...how };
    if (known) {
      known.update(reading);
      return known;
    }
    const sighting = new Sighting(this.#clock, this.capabilities.storeClock, reading);
    this.#sightings.set(election, sighting);
    return sighting;
  }

  #known(election: string, useStoreClock: boolean): LeaseSnapshot | undefined {
    const sighting = this.#sightings.get(election);
    return sighting && !sighting.outdated ? this.#snapshot(election, sighting, useStoreClock) : undefined;
  }

  /** @param ours whether a term counts as vacant of which this process alone knows that nobody leads on it. */
  #snapshot(election: string, sighting: Sighting, useStoreClock: boolean, ours = true): LeaseSnapshot {
    const { record } = sighting;
    const ageMs = sighting.ageMs(useStoreClock);
    const abandoned = record.termId === null || !ours ? undefined : this.#abandoned.get(election)?.get(record.termId);
    const vacant = record.termId === null || abandoned !== undefined;
    const state = vacant ? "vacant" : leaseState(record, ageMs);
    // A vacated record's nonce is as old as the release, and then there may be a hold; any other's is as old as the last
    // renewal, and nobody else knows of a term that was abandoned here.
    const freeForMs = ageMs[0] - (record.termId === null ? (record.holdMs ?? 0) : record.leaseDurationMs);
    const { transfer, reservation, done } = record;
    const isReserved = reservation !== undefined && ageMs[0] < reservation.durationMs && !record.broken;
    const bar = barOf({
      state,
      done,
      holdMs: abandoned && !record.broken ? abandoned.heldUntilMs - this.#clock.monotonicMs() : (record.holdMs ?? 0) - ageMs[0],
      transferTo: transfer && freeForMs < transfer.timeoutMs ? transfer.candidateId : undefined,
      group: isReserved ? reservation.group : undefined,
    });
    return {
      election,
      state,
      term: record.term,
      ...(vacant || record.candidateId === null ? {} : { holder: record.candidateId }),
      ...(vacant || record.value === undefined ? {} : { value: record.value }),
      ageMs,
      leaseDurationMs: record.leaseDurationMs,
      ...(useStoreClock && !abandoned && bar && bar.kind !== "done" && sighting.isUndated ? { undated: true as const } : {}),
      ...(bar ? { bar } : {}),
      ...(record.broken ? { endingReason: record.broken.reason } : {}),
    };
  }

  #hold(record: LeaseRecord, version: string, grantedAt: Instant, election: string): Lease {
    const { term, termId, candidateId, leaseDurationMs } = record;
    const lease: Lease = {
      election,
      candidateId: candidateId ?? "",
      term,
      termId: termId ?? "",
      leaseDurationMs,
      grantedAt,
    };
    this.#holdings.set(lease, new Holding({ record, version }, grantedAt));
    return lease;
  }

  #holding(lease: Lease): Holding {
    const holding = this.#holdings.get(lease);
    if (!holding) throw new ConfigurationError(`This lease of '${lease.election}' was not given out by this ${this.name} store.`);
    return holding;
  }

  #conflict(operation: string, election: string): StoreError {
    return new StoreError(
      "STORE_CONFLICT",
      `${this.name}: others kept writing the record of '${election}' during '${operation}'.`,
      {
        store: this.name,
        operation,
        election,
        mayHaveBeenApplied: false,
      },
    );
  }
}

function leaseState(record: LeaseRecord, [min, max]: readonly [number, number]): LeaseState {
  if (min >= record.leaseDurationMs) return "expired";
  if (max >= record.leaseDurationMs) return "unknown";
  return record.broken || record.transfer ? "ending" : "held";
}

function lost(
  reason: Extract<RenewOutcome, { held: false }>["reason"],
  barredUntilExpiry: boolean,
  explanation: string,
): Extract<RenewOutcome, { held: false }> {
  return { held: false, reason, barredUntilExpiry, explanation };
}

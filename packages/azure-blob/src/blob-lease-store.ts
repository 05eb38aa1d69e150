import type { BlobClient } from "@azure/storage-blob";
import {
  ConfigurationError,
  ForeignRecordError,
  systemClock,
  TermRegressedError,
  UnsupportedError,
  type BreakOptions,
  type BreakOutcome,
  type Clock,
  type Leadership,
  type LeaseSnapshot,
  type LeaseStore,
  type LeaseStoreCapabilities,
  type OccurrenceOptions,
  type ReadOptions,
  type TransferOptions,
  type TransferOutcome,
} from "@leasehold/core";
import {
  Administration,
  checkName,
  checkReservation,
  checkTerm,
  checkValue,
  DEFAULT_REQUEST_TIMEOUT_MS,
  duration,
  holderElapsedMs,
  instantOf,
  mayAcquire,
  Recent,
  RecordLeaseStore,
  ServiceClock,
  shareLimits,
  sleep,
  type AcquireOutcome,
  type AcquireRequest,
  type Instant,
  type Lease,
  type ReleaseOptions,
  type ReleaseOutcome,
  type RenewOutcome,
  type RequestLimits,
  type Standing,
} from "@leasehold/core/provider";
import {
  conditionFailed,
  failureOf,
  isContainerGone,
  isGone,
  isTaken,
  lossOf,
  mayHaveBeenApplied,
  STORE_NAME,
} from "./azure-blob-errors.ts";
import { BlobRecordStore } from "./blob-record-store.ts";
import { carryOut, isCarriedOut } from "./blob-orders.ts";
import { BlobRequests, BREAK_AT_EXPIRY_S, type CallLimits } from "./blob-requests.ts";
import { barOfFree, isFree, MAX_LEASE_MS, remember, snapshotOf, type Look, type Memory } from "./blob-sighting.ts";
import { sealBlob, uploadFenced, type FencedUploadOptions, type FenceOptions } from "./fence.ts";
import { nextLookAtGridMs, SHARP_MS } from "./grid-aim.ts";
import { resolvePlace, type BlobLeaseStoreOptions, type BlobPlace } from "./options.ts";
import { decodeNote, decodeTerm, encodeTerm, type BreakNote, type Grid, type Metadata, type TermMetadata } from "./schema.ts";

/** What the service takes: https://learn.microsoft.com/rest/api/storageservices/lease-blob */
const MIN_LEASE_MS = 15_000;
/** Metadata may have 8 KiB in all; a value of 2 KiB takes three times that at worst, percent-encoded. */
const MAX_VALUE_BYTES = 2_048;
/** How old a published grid may grow: the two clocks drift apart, by 6 ms in this time at 10 millionths. */
const GRID_AGE_MS = 600_000;
/** The most requests that one term spends on learning the service's clock. */
const MAX_PROBES = 8;
/** How much of a reservation may have passed at a release before it is made to count anew. */
const STALE_RESERVATION = 0.1;

/** What the holder of a lease remembers of it. The lease id is the key to the lease: it goes nowhere but to the service. */
interface Holding {
  readonly leaseId: string;
  /** Before the last request that extended it was sent. */
  extendedAt: Instant;
  term: TermMetadata;
  others: Metadata;
  etag: string;
  /** When the metadata was last known to be written. */
  writtenAt: Instant;
  /** An administrator has broken it in favour of somebody: then it is left to run out, so that the note stays in force. */
  transferring: boolean;
  probing: AbortController | undefined;
  /** When the grid was last made sharp, or known to be, by the monotonic clock. */
  probedMs: number | undefined;
  /** Metadata writes, one at a time, each conditional on the ETag of the one before. */
  writes: Promise<unknown>;
}

/** A lease on which nobody leads, and which may have been granted, or be granted yet, by a request that was given up. */
interface Orphan {
  readonly leaseId: string;
  /** The term that the blob named before. */
  readonly term: number;
  /** The terms that were, or may have been, written under it. */
  readonly termIds: string[];
  /** When it will have run out, by the monotonic clock, if it was granted at all. */
  readonly untilMs: number;
}

/**
 * A {@link LeaseStore} on Azure Blob Storage: one blob per election, whose native lease is the election's lease. The
 * service itself ends it; its term, holder and value are metadata, written under the lease.
 *
 * The first candidate creates the container and the blob; the blob is never deleted. Every request is sent once: the
 * SDK's own retries are off, whatever the given client does otherwise. Candidates need *Storage Blob Data Contributor*
 * on the container, observers *Storage Blob Data Reader*.
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
    // It counts between two dates of the service's that each name a second, and so may hide almost another one each.
    reservation: { toleranceMs: 2_000 },
    completion: false,
  };
  readonly #place: BlobPlace;
  readonly #requests: BlobRequests;
  readonly #clock: Clock;
  readonly #serviceClock = new ServiceClock();
  readonly #administration: Administration;
  readonly #memories: Recent<Memory>;
  readonly #holdings = new WeakMap<Lease, Holding>();
  readonly #orphans: Recent<readonly Orphan[]>;
  /** What electors of this process hold, by election. */
  readonly #held = new Map<string, Holding>();

  /** @throws {ConfigurationError} unless exactly one way to reach the container is given, and given well. */
  constructor(options: BlobLeaseStoreOptions) {
    this.#place = resolvePlace(options);
    this.#clock = options.clock ?? systemClock;
    this.#memories = new Recent(this.#clock);
    this.#orphans = new Recent(this.#clock);
    this.#requests = new BlobRequests(this.#place, this.#clock, this.#serviceClock);
    this.#administration = new Administration({
      name: STORE_NAME,
      clock: this.#clock,
      look: (election, limits) => this.#standing(election, limits),
    });
  }

  get clock(): Clock {
    return this.#clock;
  }

  async acquire(request: AcquireRequest): Promise<AcquireOutcome> {
    const { election } = request;
    checkName("election", election);
    checkName("candidateId", request.candidateId);
    if (request.value !== undefined) checkValue(request.value, MAX_VALUE_BYTES);
    const { leaseDurationMs } = request;
    if (leaseDurationMs < MIN_LEASE_MS || leaseDurationMs > MAX_LEASE_MS || leaseDurationMs % 1_000 !== 0) {
      throw new ConfigurationError(
        `leaseDurationMs is ${leaseDurationMs}; Azure leases a blob for 15,000 to 60,000 ms, in whole seconds.`,
      );
    }
    checkTerm("minTerm", request.minTerm);
    if (request.reservation) checkReservation(request.reservation);
    const remembered = this.#memories.get(election)?.look;
    const usable = remembered && remembered.term.term >= (request.aboveTerm ?? 0);
    const look = (usable ? remembered : await this.#look(election, request)) ?? (await this.#create(election, request));
    if (!this.#isTurnOf(request, look)) return { acquired: false, current: this.#snapshot(election, look) };
    this.#nextTerm(look, request);

    const leaseId = this.#clock.randomUuid();
    const grantedAt = instantOf(this.#clock);
    const orphan: Orphan = { leaseId, term: look.term.term, termIds: [], untilMs: grantedAt.monotonicMs + leaseDurationMs };
    try {
      await this.#requests.acquire(election, leaseId, leaseDurationMs, request);
    } catch (error) {
      const failure = failureOf(error);
      if (isGone(failure)) this.#memories.delete(election);
      if (isTaken(failure) || isGone(failure)) return { acquired: false };
      // It may have been granted all the same, or be granted yet: a lease that nobody knows of would bar everyone.
      if (mayHaveBeenApplied(error)) await this.#abandon(election, orphan, request);
      throw error;
    }
    try {
      const holding = await this.#writeTerm(orphan, look, grantedAt, request);
      if (!holding) {
        await this.#abandon(election, orphan, request);
        return { acquired: false };
      }
      return { acquired: true, lease: this.#hold(request, holding, grantedAt) };
    } catch (error) {
      await this.#abandon(election, orphan, request);
      // Somebody broke the lease, or it ran out, before the term was written: a lost race.
      if (lossOf(failureOf(error))) return { acquired: false };
      throw error;
    }
  }

  async renew(lease: Lease, given: RequestLimits): Promise<RenewOutcome> {
    const holding = this.#holding(lease);
    const limits = shareLimits(this.#clock, given);
    const extendedAt = instantOf(this.#clock);
    try {
      await this.#requests.renew(lease.election, holding.leaseId, limits);
      holding.extendedAt = extendedAt;
      this.#probe(lease, holding, given);
      return { held: true, extendedAt };
    } catch (error) {
      return await this.#explainLoss(lease, holding, error, limits);
    }
  }

  async publish(lease: Lease, value: string, given: RequestLimits): Promise<RenewOutcome> {
    checkValue(value, MAX_VALUE_BYTES);
    const holding = this.#holding(lease);
    const limits = shareLimits(this.#clock, given);
    try {
      await this.#rewrite("publish", lease.election, holding, (term) => ({ ...term, value }), limits);
      return { held: true };
    } catch (error) {
      return await this.#explainLoss(lease, holding, error, limits);
    }
  }

  /**
   * A hold takes two requests: the term is marked as over, under its lease, and then the lease is broken with the hold as
   * the break's period. While the lease breaks nobody can acquire, whoever has asked for what.
   */
  async release(lease: Lease, { holdMs = 0, done, ...given }: ReleaseOptions): Promise<ReleaseOutcome> {
    const { election } = lease;
    const limits = shareLimits(this.#clock, given);
    const holding = this.#holding(lease);
    if (done) throw new UnsupportedError("Only an occurrence can be completed: an election goes on.", { election });
    this.#letGo(lease, holding);
    if (holding.transferring) return "not-held";
    if (holdMs > 0) return await this.#holdBack(lease, holding, Math.min(Math.ceil(holdMs / 1_000), BREAK_AT_EXPIRY_S), limits);
    try {
      await this.#renewReservation(lease, holding, limits);
      await this.#requests.release(election, holding.leaseId, limits);
      return "released";
    } catch (error) {
      if (lossOf(failureOf(error))) return "not-held";
      const { term, termId, leaseDurationMs } = lease;
      const untilMs = holding.extendedAt.monotonicMs + leaseDurationMs;
      const known = this.#orphans.get(election)?.some(({ leaseId }) => leaseId === holding.leaseId);
      if (!known) {
        const orphan = { leaseId: holding.leaseId, term: term - 1, termIds: [termId], untilMs };
        this.#orphans.set(election, [...(this.#orphans.get(election) ?? []), orphan]);
      }
      throw error;
    }
  }

  forget(lease: Lease): void {
    this.#letGo(lease, this.#holding(lease));
  }

  async read(election: string, options: ReadOptions = {}): Promise<LeaseSnapshot | undefined> {
    checkName("election", election);
    const limits = { timeoutMs: options.timeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS, signal: options.signal };
    let look = await this.#look(election, limits);
    if (look?.leaseState === "leased" && (await this.#freeOrphans(election, look, limits)))
      look = await this.#look(election, limits);
    return look && this.#snapshot(election, look);
  }

  nextLookMs(election: string, retryPeriodMs: number): number {
    const look = this.#memories.get(election)?.look;
    this.#memories.keep(election, 2 * retryPeriodMs);
    const { grid, leaseDurationMs } = look?.term ?? {};
    const aimMs =
      look?.leaseState === "leased" && grid && leaseDurationMs !== undefined
        ? nextLookAtGridMs({ clock: this.#clock, serviceClock: this.#serviceClock, grid, leaseDurationMs, retryPeriodMs })
        : undefined;
    return aimMs ?? retryPeriodMs * (0.8 + this.#clock.random() / 5);
  }

  async break(election: string, options: BreakOptions): Promise<BreakOutcome> {
    return await this.#administration.break(election, options);
  }

  /**
   * The lease is broken in favour of the candidate: the leader learns of it at its next renewal and drains in what
   * remains of the lease. A leader that releases before it has learned of it voids the hand-over (`expired`).
   */
  async transfer(election: string, candidateId: string, options?: TransferOptions): Promise<TransferOutcome> {
    return await this.#administration.transfer(election, candidateId, options);
  }

  /**
   * The occurrences of an election's schedule, each a small blob below `ticks/` in the same container, and no lease. They
   * are kept until a lifecycle rule of yours for that prefix deletes them: a blob has no expiry of its own.
   *
   * @throws {ConfigurationError} where the store was given one blob instead of a container.
   */
  occurrences(election: string, { retentionMs }: OccurrenceOptions): LeaseStore {
    checkName("election", election);
    duration("retentionMs", retentionMs);
    const records = new BlobRecordStore(this.#place.container, this.#place.occurrencePrefix(election));
    return new RecordLeaseStore(records, { clock: this.#clock, occurrences: true });
  }

  /** See {@link sealBlob}. */
  async seal(leadership: Leadership, blob: BlobClient, options: FenceOptions = {}): Promise<void> {
    await sealBlob(this.#clock, leadership, blob, options);
  }

  /** See {@link uploadFenced}. */
  async fencedUpload(
    leadership: Leadership,
    blob: BlobClient,
    content: string | Uint8Array,
    options: FencedUploadOptions = {},
  ): Promise<void> {
    await uploadFenced(this.#clock, leadership, blob, content, options);
  }

  /** @throws {TermRegressedError} if the next term would not be above what this process has seen. */
  #nextTerm(look: Look, { election, minTerm, aboveTerm }: AcquireRequest): number {
    const term = Math.max(look.term.term + 1, minTerm ?? 1);
    if (term <= (aboveTerm ?? 0)) throw new TermRegressedError(election, look.term.term, aboveTerm ?? 0);
    checkTerm("the next term", term);
    return term;
  }

  /** Creates the container, if it is missing, and the blob. Losing that race to another candidate is as good as winning it. */
  async #create(election: string, limits: CallLimits): Promise<Look> {
    const metadata = encodeTerm({ term: 0 }, {});
    try {
      await this.#requests.createBlob(election, metadata, limits);
    } catch (error) {
      if (!isContainerGone(failureOf(error))) throw error;
      await this.#requests.createContainer(election, limits);
      await this.#requests.createBlob(election, metadata, limits);
    }
    const look = await this.#look(election, limits);
    if (!look)
      throw new ForeignRecordError(election, this.#requests.describe(election), "it vanished right after it was created");
    return look;
  }

  /** Whether the candidate's turn has come, should the lease be free: that is the service's to say. */
  #isTurnOf({ election, candidateId, reservation }: AcquireRequest, look: Look): boolean {
    const bar = barOfFree(look, this.#memories.get(election), this.#clock.monotonicMs());
    return mayAcquire({ bar }, candidateId, reservation?.group);
  }

  /**
   * The second step: names the term and its holder under the lease just acquired. The leadership starts only once that is
   * confirmed. `undefined` where another's whole term lay before it, and has reserved the election for others.
   */
  async #writeTerm(
    { leaseId, termIds }: Orphan,
    before: Look,
    grantedAt: Instant,
    request: AcquireRequest,
  ): Promise<Holding | undefined> {
    const { election } = request;
    let look = before;
    for (let tries = 0; ; tries += 1) {
      const termId = this.#clock.randomUuid();
      termIds.push(termId);
      const term: TermMetadata = {
        term: this.#nextTerm(look, request),
        termId,
        candidateId: request.candidateId,
        value: request.value,
        leaseDurationMs: request.leaseDurationMs,
        grid: this.#grid(grantedAt.monotonicMs, request.renewIntervalMs),
        reservation: request.reservation,
      };
      let written: Pick<Look, "metadata" | "etag">;
      try {
        const etag = await this.#setMetadata("write-term", election, leaseId, look, term, request);
        written = { metadata: look.metadata, etag };
      } catch (error) {
        const stale = conditionFailed(failureOf(error));
        if ((!stale && !mayHaveBeenApplied(error)) || tries > 0) throw error;
        // Another's whole term lay between our look and our lease, or the reply was lost: read under our own lease, which nobody can write past.
        const found = await this.#look(election, request);
        if (!found) throw error;
        if (found.term.termId !== term.termId) {
          if (!this.#isTurnOf(request, found)) return undefined;
          look = found;
          continue;
        }
        written = found;
      }
      // The break of a hold names no lease. One that was late may have met this lease before the term was written, and
      // would end it without a word after the rest of the hold; any that comes now finds another ETag.
      if (look.term.holdMs !== undefined) await this.#requests.renew(election, leaseId, request);
      return this.#newHolding(leaseId, grantedAt, term, written);
    }
  }

  #newHolding(
    leaseId: string,
    extendedAt: Instant,
    term: TermMetadata,
    { metadata: others, etag }: Pick<Look, "metadata" | "etag">,
  ): Holding {
    return {
      leaseId,
      extendedAt,
      term,
      others,
      etag,
      writtenAt: instantOf(this.#clock),
      transferring: false,
      probing: undefined,
      probedMs: undefined,
      writes: Promise.resolve(),
    };
  }

  #hold(request: AcquireRequest, holding: Holding, grantedAt: Instant): Lease {
    const { election, candidateId, leaseDurationMs } = request;
    const { term, termId = "" } = holding.term;
    const lease: Lease = { election, candidateId, term, termId, leaseDurationMs, grantedAt };
    this.#holdings.set(lease, holding);
    this.#held.set(election, holding);
    return lease;
  }

  #holding(lease: Lease): Holding {
    const holding = this.#holdings.get(lease);
    if (!holding)
      throw new ConfigurationError(`This lease of '${lease.election}' was not given out by this ${STORE_NAME} store.`);
    return holding;
  }

  #letGo(lease: Lease, holding: Holding): void {
    holding.probing?.abort();
    if (this.#held.get(lease.election) === holding) this.#held.delete(lease.election);
    // This process knows best that the term is over: should the next look find a lease, it is not this term's.
    const { term, others: metadata, etag, writtenAt } = holding;
    const nowMs = this.#clock.monotonicMs();
    const look: Look = {
      leaseState: "available",
      infinite: false,
      contentLength: 0,
      metadata,
      etag,
      unchangedMs: nowMs - writtenAt.monotonicMs,
      term,
      seenMs: nowMs,
      note: undefined,
    };
    this.#memories.set(lease.election, remember(undefined, look, nowMs));
  }

  /** Ends the term in a way that bars everybody, this process too, for so many seconds or for what remains of the lease. */
  async #holdBack(lease: Lease, holding: Holding, seconds: number, limits: RequestLimits): Promise<ReleaseOutcome> {
    const { election } = lease;
    try {
      const reservation = await this.#reservationLeft(election, holding, limits).catch(() => holding.term.reservation);
      // Under the lease, and so only while it is ours. It tells readers that nobody leads any more, and whoever leads next
      // that a break may still be under way.
      const left = { value: undefined, reservation, holdMs: seconds * 1_000 };
      await this.#rewrite("leave", election, holding, (term) => ({ ...term, ...left }), limits);
      this.#letGo(lease, holding);
      await this.#requests.break(election, holding.etag, seconds, limits);
      return "released";
    } catch (error) {
      const failure = failureOf(error);
      if (lossOf(failure) || conditionFailed(failure)) return "not-held";
      throw error;
    }
  }

  /**
   * Makes a reservation count from the end of the term, where it has counted for a while: only what is written to the
   * blob starts it anew, and its lease's renewals and release are no writes. Whether it succeeds or not, the term ends.
   */
  async #renewReservation(lease: Lease, holding: Holding, limits: RequestLimits): Promise<void> {
    const { election } = lease;
    const { reservation } = holding.term;
    if (!reservation) return;
    try {
      const left = await this.#reservationLeft(election, holding, limits);
      const stale = holderElapsedMs(this.#clock, holding.writtenAt) > reservation.durationMs * STALE_RESERVATION;
      if (!left || stale) await this.#rewrite("leave", election, holding, (term) => ({ ...term, reservation: left }), limits);
      // What was seen and written just now was this term still, and it is over.
      this.#letGo(lease, holding);
    } catch {
      // It then counts from before, or goes on although it was broken. The lease is released all the same.
    }
  }

  /** What the term reserves once it is over: nothing, if an administrator has broken it, of which its holder may not know yet. */
  async #reservationLeft(election: string, { term }: Holding, limits: CallLimits): Promise<TermMetadata["reservation"]> {
    const look = term.reservation && (await this.#look(election, limits));
    return look?.note?.reason === undefined ? term.reservation : undefined;
  }

  /** Tells a lost lease from a passing failure, which is thrown. */
  async #explainLoss(lease: Lease, holding: Holding, error: unknown, limits: RequestLimits): Promise<RenewOutcome> {
    const reason = lossOf(failureOf(error));
    if (!reason) throw error;
    this.#letGo(lease, holding);
    if (reason !== "broken") {
      const explanation =
        reason === "missing"
          ? `${this.#requests.describe(lease.election)} is gone`
          : "another candidate has the lease, or it was released";
      return { held: false, reason, barredUntilExpiry: false, explanation };
    }
    const look = await this.#look(lease.election, limits).catch(() => undefined);
    const note = look?.note?.term === lease.term ? look.note : undefined;
    holding.transferring = note?.transfer !== undefined;
    return {
      held: false,
      reason,
      // Only a break of ours is known to wait for what remains of the lease; another tool may have cut it short.
      barredUntilExpiry: look?.leaseState === "breaking" && note !== undefined,
      explanation: holding.transferring
        ? `an administrator asked to hand over to '${note?.transfer?.candidateId}'`
        : `an administrator broke it: ${note?.reason ?? "no reason was left"}`,
    };
  }

  /** The election as an administrator finds it. */
  async #standing(election: string, limits: CallLimits): Promise<Standing | undefined> {
    const look = await this.#look(election, limits);
    return (
      look && {
        snapshot: this.#snapshot(election, look),
        lastHolder: look.term.candidateId,
        isCarriedOut: (order) => isCarriedOut(look, order),
        carryOut: async (order) => {
          // What this process has seen of a free lease, it has to look at again.
          if (isFree(look)) this.#memories.delete(election);
          return await carryOut(this.#requests, election, look, order, limits);
        },
      }
    );
  }

  /** Frees a lease on which nobody leads, now or as soon as it is seen. */
  async #abandon(election: string, orphan: Orphan, limits: CallLimits): Promise<void> {
    this.#orphans.set(election, [...(this.#orphans.get(election) ?? []), orphan]);
    await this.#freeOrphan(election, orphan, limits);
  }

  /** Frees the orphans that the lease in this look can be. Returns whether one was. */
  async #freeOrphans(election: string, { term }: Look, limits: CallLimits): Promise<boolean> {
    const over = this.#memories.get(election)?.leasedSinceMs === undefined;
    for (const orphan of this.#orphans.get(election) ?? []) {
      // Under a newer term of somebody else's that has not been seen to end, the lease is theirs.
      const canBe = over || term.term <= orphan.term || orphan.termIds.includes(term.termId ?? "");
      if (canBe && (await this.#freeOrphan(election, orphan, limits))) return true;
    }
    return false;
  }

  async #freeOrphan(election: string, orphan: Orphan, limits: CallLimits): Promise<boolean> {
    const expired = this.#clock.monotonicMs() > orphan.untilMs;
    const freed =
      !expired &&
      (await this.#requests.release(election, orphan.leaseId, limits).then(
        () => true,
        () => false,
      ));
    if (expired || freed) {
      const left = (this.#orphans.get(election) ?? []).filter((other) => other !== orphan);
      if (left.length > 0) this.#orphans.set(election, left);
      else this.#orphans.delete(election);
    }
    return freed;
  }

  /** Changes the metadata of a term that is held. A reply that was lost is resolved by reading once. */
  async #rewrite(
    operation: "publish" | "leave",
    election: string,
    holding: Holding,
    change: (term: TermMetadata) => TermMetadata,
    limits: CallLimits,
  ): Promise<void> {
    const write = async (): Promise<void> => {
      const term = change(holding.term);
      try {
        const seen = { metadata: holding.others, etag: holding.etag };
        holding.etag = await this.#setMetadata(operation, election, holding.leaseId, seen, term, limits);
      } catch (error) {
        if (!conditionFailed(failureOf(error))) throw error;
        const found = await this.#look(election, limits);
        if (!found) throw error;
        // Whether the term is still ours is the service's to say: the write carries the lease id.
        holding.etag = await this.#setMetadata(operation, election, holding.leaseId, found, term, limits);
      }
      holding.term = term;
      holding.writtenAt = instantOf(this.#clock);
    };
    const written = holding.writes.then(write);
    holding.writes = written.catch(() => undefined);
    await written;
  }

  async #setMetadata(
    operation: Parameters<BlobRequests["setMetadata"]>[0],
    election: string,
    leaseId: string | undefined,
    { metadata, etag }: Pick<Look, "metadata" | "etag">,
    term: TermMetadata,
    limits: CallLimits,
  ): Promise<string> {
    return await this.#requests.setMetadata(operation, election, leaseId, etag, encodeTerm(term, metadata), limits);
  }

  #grid(tickMs: number, intervalMs: number): Grid | undefined {
    const tick = this.#serviceClock.toService(tickMs, this.#clock.monotonicMs());
    return tick && { tick, intervalMs };
  }

  /**
   * Makes the published grid sharp, once the term has lasted for one renewal, and again whenever it has grown old:
   * standbys can only aim as well as the holder knew the service's clock. A holder that stood by before knows it
   * already, and sends nothing for a while. What the task publishes waits for the write, for half of a call at most.
   */
  #probe(lease: Lease, holding: Holding, { timeoutMs }: RequestLimits): void {
    const { grid } = holding.term;
    const startMs = this.#clock.monotonicMs();
    if (!grid || holding.probing) return;
    if (grid.tick.hi - grid.tick.lo <= SHARP_MS) holding.probedMs ??= startMs;
    if (holding.probedMs !== undefined && startMs - holding.probedMs < GRID_AGE_MS) return;
    holding.probedMs = startMs;
    const probing = new AbortController();
    holding.probing = probing;
    const { signal } = probing;
    const limits = { timeoutMs: DEFAULT_REQUEST_TIMEOUT_MS, signal };
    const { election } = lease;
    const run = async (): Promise<void> => {
      for (let probes = 0; probes < MAX_PROBES; probes += 1) {
        const nowMs = this.#clock.monotonicMs();
        if (this.#serviceClock.uncertaintyMs(nowMs) <= SHARP_MS) break;
        await sleep(this.#clock, this.#serviceClock.sharpeningMs(nowMs + 1) - nowMs, signal);
        await this.#look(election, limits);
      }
      const sharper = this.#grid(lease.grantedAt.monotonicMs, grid.intervalMs);
      if (!sharper) return;
      const half = shareLimits(this.#clock, { timeoutMs: timeoutMs / 2, signal });
      await this.#rewrite("publish", election, holding, (term) => ({ ...term, grid: sharper }), half);
    };
    // An aim that stays blunt costs standbys some time, and nobody anything else.
    void run()
      .catch(() => undefined)
      .finally(() => {
        if (holding.probing === probing) holding.probing = undefined;
      });
  }

  async #look(election: string, limits: CallLimits): Promise<Look | undefined> {
    const properties = await this.#requests.head(election, limits);
    if (!properties) {
      this.#memories.delete(election);
      return undefined;
    }
    const term = decodeTerm(properties.metadata, properties.contentLength);
    if ("problem" in term) {
      this.#memories.delete(election);
      throw new ForeignRecordError(election, this.#requests.describe(election), term.problem);
    }
    const broken = properties.leaseState === "breaking" || properties.leaseState === "broken";
    const note = broken ? await this.#readNote(election, term.term, limits) : undefined;
    const nowMs = this.#clock.monotonicMs();
    const look: Look = { ...properties, term, seenMs: nowMs, note: note?.note, noteAgeMs: note?.ageMs };
    this.#memories.set(election, remember(this.#memories.get(election), look, nowMs));
    return look;
  }

  /** A note counts only for the term that it names: it may be left from an earlier one. */
  async #readNote(election: string, term: number, limits: CallLimits): Promise<{ note: BreakNote; ageMs: number } | undefined> {
    const found = await this.#requests.readNote(election, limits);
    const note = found && decodeNote(found.metadata);
    return note?.term === term ? { note, ageMs: found?.ageMs ?? 0 } : undefined;
  }

  #snapshot(election: string, look: Look): LeaseSnapshot {
    const nowMs = this.#clock.monotonicMs();
    return snapshotOf(election, look, this.#memories.get(election), this.#isOurs(election, look.term), nowMs);
  }

  /** Whether an elector of this process holds that term, by what it knows itself. */
  #isOurs(election: string, { termId }: TermMetadata): boolean {
    const holding = this.#held.get(election);
    if (!holding || holding.term.termId !== termId) return false;
    return holderElapsedMs(this.#clock, holding.extendedAt) < (holding.term.leaseDurationMs ?? 0);
  }
}

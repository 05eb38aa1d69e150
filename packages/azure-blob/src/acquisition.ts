import type { BlobLeaseClient } from "@azure/storage-blob";
import {
  beginTerm,
  ForeignRecordError,
  checkTerm,
  instantOf,
  mayAcquire,
  mayHaveBeenApplied,
  type AcquireOutcome,
  type AcquireRequest,
  type Instant,
  type Lease,
  TermRegressedError,
} from "@leasehold/core/provider";
import { conditionFailed, failureOf, isGone, isTaken, lossOf } from "./azure-blob-errors.ts";
import type { Orphan } from "./orphans.ts";
import type { StoreParts } from "./parts.ts";
import { publishedGrid } from "./published-grid.ts";
import { encodeTerm, type TermMetadata } from "./schema.ts";
import { barOfFree, pastOf, type BlobReading, type ObservedBlob } from "./observed-blob.ts";

/** A term that is written under its lease. */
interface WrittenTerm extends Pick<BlobReading, "metadata" | "etag"> {
  readonly term: TermMetadata;
  /** The term that it replaced. */
  readonly before: TermMetadata;
}

/**
 * Makes one attempt to lead, unless the election is blocked for the candidate. Creates the blob if it is missing, and its
 * container if that is allowed.
 */
export async function acquireLease(parts: StoreParts, request: AcquireRequest): Promise<AcquireOutcome> {
  const before = await sightingFor(parts, request);
  if (!isTurnOf(parts, request, before)) {
    return { acquired: false, current: parts.reader.snapshot(request.election, before) };
  }
  nextTerm(before, request);
  return await new Acquisition(parts, request).run(before);
}

/**
 * One attempt, in two steps: the service grants the lease, and then the term is written under it. The lease counts from before
 * the first step.
 */
class Acquisition {
  readonly #parts: StoreParts;
  readonly #request: AcquireRequest;
  /** New for each attempt, so that the service cannot have granted this lease to another attempt. */
  readonly #leaseId: string;
  readonly #client: BlobLeaseClient;
  readonly #grantedAt: Instant;
  /** The `termId`s that were sent to the service. */
  readonly #termIds: string[] = [];

  constructor(parts: StoreParts, request: AcquireRequest) {
    this.#parts = parts;
    this.#request = request;
    this.#leaseId = parts.clock.randomUuid();
    this.#client = parts.requests.lease(request.election, this.#leaseId);
    this.#grantedAt = instantOf(parts.clock);
  }

  async run(before: ObservedBlob): Promise<AcquireOutcome> {
    const orphan = this.#orphan(before);
    if (!(await this.#takeLease(orphan))) return { acquired: false };
    try {
      const lease = await this.#takeTerm(before);
      if (lease) return { acquired: true, lease };
    } catch (error) {
      await this.#free(orphan);
      // The lease was broken, or ran out, before the term was written. The attempt has lost the race.
      if (lossOf(failureOf(error))) return { acquired: false };
      throw error;
    }
    await this.#free(orphan);
    return { acquired: false };
  }

  /** Takes the first step: requests the lease. Returns whether the service granted it. */
  async #takeLease(orphan: Orphan): Promise<boolean> {
    const { requests, reader } = this.#parts;
    const { election, leaseDurationMs } = this.#request;
    try {
      await requests.acquire(election, this.#client, leaseDurationMs, this.#request);
      return true;
    } catch (error) {
      const failure = failureOf(error);
      if (isGone(failure)) reader.forget(election);
      if (isTaken(failure) || isGone(failure)) return false;
      // The service may have granted the lease, or may still grant it. A lease that no process knows of would block every
      // candidate.
      if (mayHaveBeenApplied(error)) await this.#free(orphan);
      throw error;
    }
  }

  /**
   * Takes the second step: writes the term under the lease just acquired. The leadership starts only after the service has
   * confirmed the write. Returns `undefined` if another candidate's whole term came between the read and the lease, and its
   * reservation or transfer excludes this candidate.
   */
  async #takeTerm(before: ObservedBlob): Promise<Lease | undefined> {
    const { clock, requests, holdings } = this.#parts;
    const { election, candidateId, leaseDurationMs } = this.#request;
    const written = await this.#writeTerm(before);
    if (!written) return undefined;
    // A hold's break carries no lease id. A delayed break may have hit this lease before its term was written. Then this renewal
    // fails. Without the renewal, the lease would end with the hold. A break after that write fails, because the ETag has
    // changed.
    if (written.before.holdMs !== undefined) await requests.renew(election, this.#client, this.#request);
    const { term, termId = "" } = written.term;
    const lease: Lease = { election, candidateId, term, termId, leaseDurationMs, grantedAt: this.#grantedAt };
    holdings.add({
      lease,
      leaseId: this.#leaseId,
      client: this.#client,
      extendedAt: this.#grantedAt,
      term: written.term,
      others: written.metadata,
      etag: written.etag,
      writtenAt: instantOf(clock),
      writes: Promise.resolve(),
      transferring: false,
      probing: undefined,
      probedMs: undefined,
    });
    return lease;
  }

  async #writeTerm(before: ObservedBlob): Promise<WrittenTerm | undefined> {
    const term = this.#newTerm(before);
    try {
      return await this.#send(term, before);
    } catch (error) {
      if (!conditionFailed(failureOf(error)) && !mayHaveBeenApplied(error)) throw error;
      // Either another candidate had a whole term between our read and our lease, or the reply was lost. While this lease lasts,
      // no other process can write.
      const found = await this.#parts.reader.read(this.#request.election, this.#request);
      if (!found) throw error;
      if (found.term.termId === term.termId) {
        return { term, before: before.term, metadata: found.metadata, etag: found.etag };
      }
      return isTurnOf(this.#parts, this.#request, found) ? await this.#send(this.#newTerm(found), found) : undefined;
    }
  }

  async #send(term: TermMetadata, { term: before, metadata, etag: ifMatch }: BlobReading): Promise<WrittenTerm> {
    const { election } = this.#request;
    const encoded = encodeTerm(term, metadata);
    const etag = await this.#parts.requests.setMetadata("write-term", election, this.#leaseId, ifMatch, encoded, this.#request);
    return { term, before, metadata, etag };
  }

  #newTerm(before: ObservedBlob): TermMetadata {
    const { candidateId, value, leaseDurationMs, renewIntervalMs, reservation } = this.#request;
    const { clock } = this.#parts;
    const termId = clock.randomUuid();
    this.#termIds.push(termId);
    const term = nextTerm(before, this.#request);
    return {
      term,
      termId,
      candidateId,
      value,
      leaseDurationMs,
      grid: publishedGrid(this.#parts, this.#grantedAt.monotonicMs, renewIntervalMs),
      reservation,
      history: beginTerm(pastOf(before), term, candidateId, clock.wallMs()),
    };
  }

  #orphan({ term: { term } }: BlobReading): Orphan {
    const untilMs = this.#grantedAt.monotonicMs + this.#request.leaseDurationMs;
    return { leaseId: this.#leaseId, term, termIds: this.#termIds, untilMs };
  }

  async #free(orphan: Orphan): Promise<void> {
    await this.#parts.orphans.free(this.#request.election, orphan, this.#request);
  }
}

/**
 * Returns the blob as this process last read it. Reads it again if that read is too old or missing. Creates the blob if it does
 * not exist.
 */
async function sightingFor({ requests, reader }: StoreParts, request: AcquireRequest): Promise<ObservedBlob> {
  const { election, aboveTerm = 0 } = request;
  const last = reader.last(election);
  if (last && last.term.term >= aboveTerm) return last;
  const found = reader.isAbsent(election) ? undefined : await reader.read(election, request);
  if (found) return found;
  const etag = await requests.create(election, encodeTerm({ term: 0 }, {}), request);
  if (etag !== undefined) return reader.sawCreated(election, etag);
  // Another process has created the blob first.
  const created = await reader.read(election, request);
  if (created) return created;
  throw new ForeignRecordError(election, requests.describe(election), "it vanished right after it was created");
}

/**
 * Returns whether the candidate may lead if the lease is free. The service decides whether it is free when this process requests
 * the lease.
 */
function isTurnOf({ clock }: StoreParts, { candidateId, reservation }: AcquireRequest, observed: ObservedBlob): boolean {
  return mayAcquire({ bar: barOfFree(observed, clock.monotonicMs()) }, candidateId, reservation?.group);
}

/** Returns the next term. @throws {TermRegressedError} if that is not above the terms that this process has seen. */
function nextTerm({ term: { term: last } }: BlobReading, { election, minTerm, aboveTerm = 0 }: AcquireRequest): number {
  const term = Math.max(last + 1, minTerm ?? 1);
  if (term <= aboveTerm) throw new TermRegressedError(election, last, aboveTerm);
  checkTerm("the next term", term);
  return term;
}

import type { BlobClient, BlobGetPropertiesResponse, BlockBlobClient } from "@azure/storage-blob";
import type { Clock } from "@leasehold/core";
import type { RequestLimits, ServiceClock } from "@leasehold/core/provider";
import { failureOf, isGone, unlessItExists } from "./azure-blob-errors.ts";
import type { BlobPlace } from "./options.ts";
import { NOTE_SUFFIX, type Metadata } from "./schema.ts";
import { DATE_GRAIN_MS, requestService, unchangedForMs, type Reply } from "./service-request.ts";

/** Bounds of one request. */
export interface CallLimits extends RequestLimits {
  readonly signal?: AbortSignal | undefined;
}

/** The note beside a blob, and how old it is by the service's own clock, to a second. */
export interface NoteProperties {
  readonly metadata: Metadata;
  readonly etag: string;
  readonly contentLength: number;
  readonly ageMs: number;
}

/** What a HEAD of a blob tells. */
export interface BlobProperties {
  readonly leaseState: "available" | "leased" | "expired" | "breaking" | "broken";
  readonly infinite: boolean;
  readonly metadata: Metadata;
  readonly etag: string;
  readonly contentLength: number;
  /** How long nobody has written to it, at least, by the service's own clock. Operations on its lease are no writes. */
  readonly unchangedMs: number;
}

/** The longest break period the service takes: with it a break waits for whatever remains of the lease. */
export const BREAK_AT_EXPIRY_S = 60;
export const BREAK_NOW_S = 0;

/**
 * The requests that a lease on a blob takes, one method for each: each is sent once, bounded in time, published on the
 * diagnostics channel, and fails with errors of ours. Every reply teaches the service's clock.
 */
export class BlobRequests {
  readonly #place: BlobPlace;
  readonly #clock: Clock;
  readonly #serviceClock: ServiceClock;

  constructor(place: BlobPlace, clock: Clock, serviceClock: ServiceClock) {
    this.#place = place;
    this.#clock = clock;
    this.#serviceClock = serviceClock;
  }

  /** For messages. */
  describe(election: string): string {
    return `the blob '${this.#place.blobName(election)}' in container '${this.#place.container.containerName}'`;
  }

  async head(election: string, limits: CallLimits): Promise<BlobProperties | undefined> {
    const properties = await this.#properties("head", this.#blob(election), election, limits);
    if (!properties) return undefined;
    const { leaseState = "available", leaseDuration, metadata = {}, etag = "", contentLength = 0 } = properties;
    const unchangedMs = Math.max(unchangedForMs(properties) - DATE_GRAIN_MS, 0);
    return { leaseState, infinite: leaseDuration === "infinite", metadata, etag, contentLength, unchangedMs };
  }

  async readNote(election: string, limits: CallLimits): Promise<NoteProperties | undefined> {
    const properties = await this.#properties("read-note", this.#note(election), election, limits);
    if (!properties) return undefined;
    const { metadata = {}, etag = "", contentLength = 0 } = properties;
    return { metadata, etag, contentLength, ageMs: unchangedForMs(properties) };
  }

  /** Writes the note, if the sibling's ETag is still `etag` (`undefined`: if there is none). */
  async writeNote(
    election: string,
    metadata: Record<string, string>,
    etag: string | undefined,
    limits: CallLimits,
  ): Promise<void> {
    const conditions = etag === undefined ? { ifNoneMatch: "*" } : { ifMatch: etag };
    await this.#send("write-note", election, limits, true, (abortSignal) =>
      this.#note(election).upload("", 0, { abortSignal, conditions, metadata }),
    );
  }

  /** Creates the container unless it exists. */
  async createContainer(election: string, limits: CallLimits): Promise<void> {
    await this.#send("create-container", election, limits, true, (abortSignal) =>
      this.#place.container.create({ abortSignal }),
    ).catch(unlessItExists);
  }

  /** Creates the blob unless it exists. */
  async createBlob(election: string, metadata: Record<string, string>, limits: CallLimits): Promise<void> {
    const blob = this.#place.container.getBlockBlobClient(this.#place.blobName(election));
    const conditions = { ifNoneMatch: "*" };
    await this.#send("create-blob", election, limits, true, (abortSignal) =>
      blob.upload("", 0, { abortSignal, conditions, metadata }),
    ).catch(unlessItExists);
  }

  async acquire(election: string, leaseId: string, leaseDurationMs: number, limits: CallLimits): Promise<void> {
    const client = this.#blob(election).getBlobLeaseClient(leaseId);
    await this.#send("acquire", election, limits, true, async (abortSignal) =>
      ofLease(leaseId, await client.acquireLease(leaseDurationMs / 1_000, { abortSignal })),
    );
  }

  async renew(election: string, leaseId: string, limits: CallLimits): Promise<void> {
    const client = this.#blob(election).getBlobLeaseClient(leaseId);
    await this.#send("renew", election, limits, true, async (abortSignal) =>
      ofLease(leaseId, await client.renewLease({ abortSignal })),
    );
  }

  async release(election: string, leaseId: string, limits: CallLimits): Promise<void> {
    const client = this.#blob(election).getBlobLeaseClient(leaseId);
    await this.#send("release", election, limits, true, (abortSignal) => client.releaseLease({ abortSignal }));
  }

  /** Breaks the lease if the blob's ETag is still `etag`: a successor's term write has changed it. It ends after `seconds`, or when it runs out. */
  async break(election: string, etag: string, seconds: number, limits: CallLimits): Promise<void> {
    const client = this.#blob(election).getBlobLeaseClient();
    const conditions = { ifMatch: etag };
    await this.#send("break", election, limits, true, (abortSignal) => client.breakLease(seconds, { abortSignal, conditions }));
  }

  /** Replaces the metadata under the lease, or of a blob that is free, if the ETag is still `etag`. Returns the new one. */
  async setMetadata(
    operation: "write-term" | "publish" | "leave" | "order",
    election: string,
    leaseId: string | undefined,
    etag: string,
    metadata: Record<string, string>,
    limits: CallLimits,
  ): Promise<string> {
    const conditions = { ...(leaseId === undefined ? {} : { leaseId }), ifMatch: etag };
    const response = await this.#send(operation, election, limits, true, (abortSignal) =>
      this.#blob(election).setMetadata(metadata, { abortSignal, conditions }),
    );
    return response.etag ?? "";
  }

  async #properties(
    operation: string,
    blob: BlobClient,
    election: string,
    limits: CallLimits,
  ): Promise<BlobGetPropertiesResponse | undefined> {
    try {
      return await this.#send(operation, election, limits, false, (abortSignal) => blob.getProperties({ abortSignal }));
    } catch (error) {
      if (isGone(failureOf(error))) return undefined;
      throw error;
    }
  }

  #blob(election: string): BlobClient {
    return this.#place.container.getBlobClient(this.#place.blobName(election));
  }

  #note(election: string): BlockBlobClient {
    return this.#place.container.getBlockBlobClient(this.#place.blobName(election) + NOTE_SUFFIX);
  }

  async #send<T extends Reply>(
    operation: string,
    election: string,
    { timeoutMs, signal }: CallLimits,
    writes: boolean,
    send: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const sentMs = this.#clock.monotonicMs();
    const response = await requestService({ clock: this.#clock, election, operation, timeoutMs, writes, signal }, send);
    if (response.date) this.#serviceClock.sample(response.date.getTime(), sentMs, this.#clock.monotonicMs());
    return response;
  }
}

function ofLease<T extends { readonly leaseId?: string }>(leaseId: string, reply: T): T {
  if (reply.leaseId?.toLowerCase() !== leaseId) throw new Error("the answer names no lease, or another");
  return reply;
}

import type { BlobClient, BlobGetPropertiesResponse, BlobItem, BlobLeaseClient, BlockBlobClient } from "@azure/storage-blob";
import { ConfigurationError } from "@leasehold/core";
import { type Clock, sendRequest, type RequestLimits, type RequestOptions, type ServiceClock } from "@leasehold/core/provider";
import {
  conditionFailed,
  failureOf,
  isContainerGone,
  isGone,
  lossOf,
  STORE_NAME,
  toStoreError,
  unlessItExists,
} from "./azure-blob-errors.ts";
import { blobPage, nextPage, type ListPage } from "./blob-page.ts";
import { ageMs, leastAgeMs, type Dated } from "./clock.ts";
import type { BlobPlace } from "./options.ts";
import { NOTE_SUFFIX, type Metadata } from "./schema.ts";

/** The fields of every reply of the service. A reply of another server has no request id. */
export interface Reply extends Dated {
  readonly requestId?: string;
}

/** The limits of one request. */
export interface CallLimits extends RequestLimits {
  readonly signal?: AbortSignal | undefined;
}

/** The metadata of a blob, and the ETag at which it was read. */
export interface VersionedMetadata {
  readonly metadata: Metadata;
  readonly etag: string;
}

/** The note beside a blob. */
export interface NoteProperties extends VersionedMetadata {
  readonly contentLength: number;
  /** The time since the note was written, by the service's own clock, to a second. */
  readonly ageMs: number;
}

/** The reply to a HEAD of a blob. */
export interface BlobProperties extends VersionedMetadata {
  readonly leaseState: "available" | "leased" | "expired" | "breaking" | "broken";
  readonly infinite: boolean;
  readonly contentLength: number;
  /**
   * The least time since the blob was last written, by the service's own clock. Operations on its lease do not count as writes.
   */
  readonly unchangedMs: number;
}

interface ListedBlob {
  readonly election: string;
  readonly properties: BlobProperties;
}

interface BlobPage {
  readonly blobs: readonly ListedBlob[];
  readonly next: string | undefined;
}

/** The longest break period that the service accepts. A break with it lasts for the rest of the lease. */
export const BREAK_AT_EXPIRY_S = 60;
export const BREAK_NOW_S = 0;
/** An ETag that no blob has. */
export const IMPOSSIBLE_ETAG = '"0x0"';

/**
 * Sends one request to the service. It is sent once, has a time limit, and is published on the diagnostics channel.
 * @throws {StoreError} for every failure. If the caller's signal aborts, its reason is thrown. A success without the service's
 *   request id is a failure, because proxies and captive portals may answer any request with success.
 */
export async function requestService<T extends Reply>(
  options: Omit<RequestOptions, "store">,
  send: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return await sendRequest({ ...options, store: STORE_NAME }, async (signal) => await serviceReply(options, () => send(signal)));
}

/**
 * Returns the service's reply to a request. The caller limits its time and publishes it.
 * @throws {StoreError} as {@link requestService} does.
 */
export async function serviceReply<T extends Reply>(
  { operation, election, writes }: Pick<RequestOptions, "operation" | "election" | "writes">,
  send: () => Promise<T>,
): Promise<T> {
  try {
    const reply = await send();
    if (reply.requestId === undefined) throw new Error("the answer is not the service's: it has no x-ms-request-id");
    return reply;
  } catch (error) {
    throw toStoreError(error, operation, election, writes);
  }
}

/**
 * The requests for the lease of a blob, one method for each. Each is sent once, has a time limit, is published on the diagnostics
 * channel, and fails with a `StoreError`. Every reply improves the estimate of the service's clock.
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

  /** Returns a name of an election's blob for messages. */
  describe(election: string): string {
    return `the blob '${this.#place.blobName(election)}' in container '${this.#place.container.containerName}'`;
  }

  async head(election: string, limits: CallLimits): Promise<BlobProperties | undefined> {
    const properties = await this.#properties("head", this.#blob(election), election, limits);
    if (!properties) return undefined;
    return blobProperties(properties, properties);
  }

  /**
   * Lists one page of the elections' blobs. Leaves out blobs in folders, such as occurrences, and blobs that are not an
   * election's. A missing container has no elections.
   */
  async list(prefix: string, { pageSize, from }: ListPage, limits: CallLimits): Promise<BlobPage> {
    const { container } = this.#place;
    const page = { prefix: this.#place.blobPrefix(prefix), pageSize, from };
    try {
      const request = { operation: "list", election: prefix, writes: false };
      const reply = await this.#send(request, limits, (abortSignal) => blobPage(container, page, abortSignal));
      const blobs = reply.segment.blobItems.flatMap((item) => this.#listed(prefix, item, reply));
      return { blobs, next: nextPage(reply) };
    } catch (error) {
      if (isGone(failureOf(error))) return { blobs: [], next: undefined };
      throw error;
    }
  }

  async readNote(election: string, limits: CallLimits): Promise<NoteProperties | undefined> {
    const properties = await this.#properties("read-note", this.#note(election), election, limits);
    if (!properties) return undefined;
    return { ...blobProperties(properties, properties), ageMs: ageMs(properties) };
  }

  /** Writes the note, if the sibling's ETag is still `etag`. With `undefined` the sibling must not exist. */
  async writeNote(
    election: string,
    metadata: Record<string, string>,
    etag: string | undefined,
    limits: CallLimits,
  ): Promise<void> {
    const conditions = etag === undefined ? { ifNoneMatch: "*" } : { ifMatch: etag };
    await this.#write("write-note", election, limits, (abortSignal) =>
      this.#note(election).upload("", 0, { abortSignal, conditions, metadata }),
    );
  }

  /**
   * Creates the blob, and its container if that is missing and may be created. Returns the blob's ETag; `undefined` if the blob
   * exists already.
   */
  async create(election: string, metadata: Record<string, string>, limits: CallLimits): Promise<string | undefined> {
    try {
      return await this.#createBlob(election, metadata, limits);
    } catch (error) {
      if (!this.#place.createsContainer || !isContainerGone(failureOf(error))) throw error;
      await this.#createContainer(election, limits);
      return await this.#createBlob(election, metadata, limits);
    }
  }

  /**
   * Returns the client that acquires, renews and releases this lease. Keep it: the SDK needs a fifth of a renewal's time to make
   * one.
   */
  lease(election: string, leaseId: string): BlobLeaseClient {
    return this.#blob(election).getBlobLeaseClient(leaseId);
  }

  async acquire(election: string, lease: BlobLeaseClient, leaseDurationMs: number, limits: CallLimits): Promise<void> {
    await this.#write("acquire", election, limits, async (abortSignal) =>
      checkedLease(lease, await lease.acquireLease(leaseDurationMs / 1_000, { abortSignal })),
    );
  }

  async renew(election: string, lease: BlobLeaseClient, limits: CallLimits): Promise<void> {
    await this.#write("renew", election, limits, async (abortSignal) =>
      checkedLease(lease, await lease.renewLease({ abortSignal })),
    );
  }

  async release(election: string, leaseId: string, limits: CallLimits): Promise<void> {
    const lease = this.lease(election, leaseId);
    await this.#write("release", election, limits, (abortSignal) => lease.releaseLease({ abortSignal }));
  }

  /**
   * Breaks the lease if the blob's ETag is still `etag`, which a successor's term write changes. The lease ends after `seconds`,
   * or when it runs out.
   */
  async break(election: string, etag: string, seconds: number, limits: CallLimits): Promise<void> {
    const client = this.#blob(election).getBlobLeaseClient();
    const conditions = { ifMatch: etag };
    await this.#write("break", election, limits, (abortSignal) => client.breakLease(seconds, { abortSignal, conditions }));
  }

  /**
   * Replaces the metadata if the ETag is still `etag`. `leaseId` is the lease of the blob; `undefined` if the blob is free.
   * Returns the new ETag.
   */
  async setMetadata(
    operation: "write-term" | "publish" | "leave" | "order",
    election: string,
    leaseId: string | undefined,
    etag: string,
    metadata: Record<string, string>,
    limits: CallLimits,
  ): Promise<string> {
    const conditions = { ...(leaseId === undefined ? {} : { leaseId }), ifMatch: etag };
    const response = await this.#write(operation, election, limits, (abortSignal) =>
      this.#blob(election).setMetadata(metadata, { abortSignal, conditions }),
    );
    return response.etag ?? "";
  }

  /**
   * Sends a write whose condition must fail. It proves the right to write, and changes nothing. The service checks rights first,
   * then the blob's existence and its lease, and then the condition.
   */
  async probe(election: string, limits: CallLimits): Promise<void> {
    const conditions = { ifMatch: IMPOSSIBLE_ETAG };
    const reply = await this.#write("probe", election, limits, (abortSignal) =>
      this.#blob(election).setMetadata({}, { abortSignal, conditions }),
    ).catch((error: unknown) => {
      const failure = failureOf(error);
      const { status, fromService } = failure;
      const isToBeCreated = isContainerGone(failure) && this.#place.createsContainer;
      const isMissing = status === 404 && (isToBeCreated || !isContainerGone(failure));
      const isRefused = isMissing || conditionFailed(failure) || (status === 412 && lossOf(failure) !== undefined);
      if (!fromService || !isRefused) throw error;
    });
    if (reply)
      throw new ConfigurationError(`${this.describe(election)} took a write whose ETag cannot have matched.`, { election });
  }

  async #createContainer(election: string, limits: CallLimits): Promise<void> {
    await this.#write("create-container", election, limits, (abortSignal) => this.#place.container.create({ abortSignal })).catch(
      unlessItExists,
    );
  }

  async #createBlob(election: string, metadata: Record<string, string>, limits: CallLimits): Promise<string | undefined> {
    const blob = this.#place.container.getBlockBlobClient(this.#place.blobName(election));
    const conditions = { ifNoneMatch: "*" };
    const reply = await this.#write("create-blob", election, limits, (abortSignal) =>
      blob.upload("", 0, { abortSignal, conditions, metadata }),
    ).catch(unlessItExists);
    return reply?.etag;
  }

  #listed(prefix: string, { name, metadata, properties }: BlobItem, reply: Dated): ListedBlob[] {
    const election = this.#place.electionOf(name);
    if (!election?.startsWith(prefix)) return [];
    return [
      {
        election,
        properties: blobProperties(
          { ...properties, ...(metadata ? { metadata } : {}) },
          { ...reply, lastModified: properties.lastModified },
        ),
      },
    ];
  }

  async #properties(
    operation: string,
    blob: BlobClient,
    election: string,
    limits: CallLimits,
  ): Promise<BlobGetPropertiesResponse | undefined> {
    try {
      return await this.#send({ operation, election, writes: false }, limits, (abortSignal) =>
        blob.getProperties({ abortSignal }),
      );
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

  async #write<T extends Reply>(
    operation: string,
    election: string,
    limits: CallLimits,
    send: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return await this.#send({ operation, election, writes: true }, limits, send);
  }

  async #send<T extends Reply>(
    request: Pick<RequestOptions, "operation" | "election" | "writes">,
    { timeoutMs, signal }: CallLimits,
    send: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const sentMs = this.#clock.monotonicMs();
    const response = await requestService({ ...request, clock: this.#clock, timeoutMs, signal }, send);
    if (response.date) this.#serviceClock.sample(response.date.getTime(), sentMs, this.#clock.monotonicMs());
    return response;
  }
}

function blobProperties(
  {
    leaseState = "available",
    leaseDuration,
    metadata = {},
    etag = "",
    contentLength = 0,
  }: Pick<BlobGetPropertiesResponse, "leaseState" | "leaseDuration" | "metadata" | "etag" | "contentLength">,
  dated: Dated,
): BlobProperties {
  const infinite = leaseDuration === "infinite";
  return { leaseState, infinite, metadata, etag, contentLength, unchangedMs: leastAgeMs(dated) };
}

function checkedLease<T extends { readonly leaseId?: string }>(lease: BlobLeaseClient, reply: T): T {
  if (reply.leaseId?.toLowerCase() !== lease.leaseId) throw new Error("the answer names no lease, or another");
  return reply;
}

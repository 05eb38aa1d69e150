import type { BlobClient, BlobHTTPHeaders } from "@azure/storage-blob";
import {
  ConfigurationError,
  FencedError,
  ForeignRecordError,
  isLeaseholdError,
  StoreError,
  type Clock,
  type Leadership,
} from "@leasehold/core";
import { Recent } from "@leasehold/core/provider";
import { conditionFailed, failureOf, isContainerGone, isGone, mayHaveBeenApplied, STORE_NAME } from "./azure-blob-errors.ts";
import { isBlobClient } from "./options.ts";
import { wholeNumber, type Metadata } from "./schema.ts";
import { requestService, type Reply } from "./requests.ts";

export interface FenceOptions {
  /** Ends the wait for the service. For a seal, pass the leadership's own: there is no work to prepare once it ends. */
  readonly signal?: AbortSignal | undefined;
  /** The longest that each request may take. @defaultValue 30_000 */
  readonly timeoutMs?: number | undefined;
}

export interface FencedUploadOptions extends FenceOptions {
  /** Metadata to set beside what the blob has. */
  readonly metadata?: Record<string, string> | undefined;
  /** As for any upload, what is not given is reset: content type, cache control and the like. */
  readonly blobHTTPHeaders?: BlobHTTPHeaders | undefined;
}

/** A blob as a fenced writer last saw it. */
interface Target {
  readonly etag: string;
  readonly metadata: Metadata;
}

/** A guarded write of one leadership to one blob. */
interface FencedRequest {
  readonly clock: Clock;
  readonly leadership: Leadership;
  readonly blob: BlobClient;
  readonly operation: "seal" | "fenced-upload";
  readonly options: FencedUploadOptions;
  /** Writes that metadata, on the condition that the blob is still this target (`undefined`: that there is none). */
  readonly send: (
    target: Target | undefined,
    metadata: Record<string, string>,
    abortSignal: AbortSignal,
  ) => Promise<Reply & { readonly etag?: string }>;
}

const FENCE_PREFIX = "leasehold_fence_";
const KEY = {
  election: `${FENCE_PREFIX}election`,
  term: `${FENCE_PREFIX}term`,
  termId: `${FENCE_PREFIX}termid`,
  write: `${FENCE_PREFIX}write`,
};
const DEFAULT_TIMEOUT_MS = 30_000;
/** A write is tried as often as this against other writers of the same blob. */
const CONFLICT_TRIES = 5;

/** The targets that a leadership has lately sealed or written, by URL: the next write needs no read first. */
const known = new WeakMap<Leadership, Recent<Target>>();

/**
 * Marks a blob as written in this term, without touching its content: from then on the service refuses the fenced
 * writes of every older term. Call it before the work; until then a write of the term before still passes. A blob that
 * does not exist is created, empty.
 *
 * It binds those who use it: a plain upload by anybody else overwrites the blob, fence and all. Let only leaders write.
 *
 * @throws {FencedError} if a newer term has sealed or written it. A `StoreError` if the service fails.
 */
export async function sealBlob(clock: Clock, leadership: Leadership, blob: BlobClient, options: FenceOptions): Promise<void> {
  // A seal leaves the metadata as it is, whatever else the object holds.
  const { signal, timeoutMs } = options;
  const send: FencedRequest["send"] = async (target, metadata, abortSignal) =>
    target
      ? await blob.setMetadata(metadata, { abortSignal, conditions: { ifMatch: target.etag } })
      : await blob.getBlockBlobClient().upload("", 0, { abortSignal, conditions: { ifNoneMatch: "*" }, metadata });
  await new FencedWrite({ clock, leadership, blob, operation: "seal", options: { signal, timeoutMs }, send }).run();
}

/**
 * Uploads content as the leader of this term, conditional on nobody else's having written since: the service refuses
 * it once a newer term has sealed or written the blob. It does not ask whether this process still believes in its
 * leadership: the refusal is the service's.
 *
 * @throws {FencedError} if it was refused; nothing was written. A `StoreError` if the service fails.
 */
export async function uploadFenced(
  clock: Clock,
  leadership: Leadership,
  blob: BlobClient,
  content: string | Uint8Array,
  options: FencedUploadOptions,
): Promise<void> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const { blobHTTPHeaders } = options;
  const send: FencedRequest["send"] = async (target, metadata, abortSignal) =>
    await blob.getBlockBlobClient().upload(bytes, bytes.byteLength, {
      abortSignal,
      conditions: target ? { ifMatch: target.etag } : { ifNoneMatch: "*" },
      metadata,
      ...(blobHTTPHeaders ? { blobHTTPHeaders } : {}),
    });
  await new FencedWrite({ clock, leadership, blob, operation: "fenced-upload", options, send }).run();
}

/** Writes under the ETag of a blob that no newer term has sealed or written. */
class FencedWrite {
  readonly #request: FencedRequest;
  readonly #targets: Recent<Target>;
  /** Marks this write, so that a read after a lost reply tells it from anybody else's. */
  readonly #writeId: string;

  /** @throws {ConfigurationError} if the blob is no `BlobClient`. */
  constructor(request: FencedRequest) {
    const { clock, leadership, blob } = request;
    checkBlob(blob);
    this.#request = request;
    this.#targets = known.get(leadership) ?? new Recent<Target>(clock);
    known.set(leadership, this.#targets);
    this.#writeId = clock.randomUuid();
  }

  async run(): Promise<void> {
    const { blob, leadership, operation } = this.#request;
    let target = this.#targets.get(blob.url) ?? (await this.#read());
    for (let tries = 0; tries < CONFLICT_TRIES; tries += 1) {
      const attempt = await this.#attempt(target);
      if (attempt.written) {
        this.#targets.set(blob.url, attempt.written);
        return;
      }
      target = attempt.found;
    }
    throw new StoreError("STORE_CONFLICT", `${STORE_NAME}: others kept writing the blob '${blob.name}' during '${operation}'.`, {
      store: STORE_NAME,
      operation,
      election: leadership.election,
      mayHaveBeenApplied: false,
    });
  }

  /** Writes once. After a conflict or a lost reply, a read finds this write or what stands in its way. */
  async #attempt(target: Target | undefined): Promise<{ readonly written?: Target; readonly found?: Target | undefined }> {
    try {
      return { written: await this.#write(target) };
    } catch (error) {
      this.#targets.delete(this.#request.blob.url);
      const contended = isContended(error);
      const unanswered = mayHaveBeenApplied(error);
      if (!contended && !unanswered) throw error;
      const found = await this.#read(unanswered ? error : undefined);
      if (found?.metadata[KEY.write] === this.#writeId) return { written: found };
      if (!contended) throw error;
      return { found };
    }
  }

  async #write(target: Target | undefined): Promise<Target> {
    const { leadership, operation, options, send } = this.#request;
    const metadata = {
      ...withoutFence(target?.metadata ?? {}),
      ...withoutFence(options.metadata ?? {}),
      ...fenceOf(leadership),
      [KEY.write]: this.#writeId,
    };
    const { etag = "" } = await this.#send(operation, true, async (signal) => await send(target, metadata, signal));
    return { etag, metadata };
  }

  /**
   * Reads the blob's metadata.
   * @param unanswered the error of a write that may have been carried out: thrown if the read fails, too.
   * @returns `undefined` if there is no blob.
   * @throws {FencedError} if a newer term has sealed or written it.
   */
  async #read(unanswered?: unknown): Promise<Target | undefined> {
    const { leadership, blob } = this.#request;
    try {
      const { etag = "", metadata = {} } = await this.#send("head-target", false, (abortSignal) =>
        blob.getProperties({ abortSignal }),
      );
      checkFence(leadership, blob, metadata, unanswered);
      return { etag, metadata };
    } catch (error) {
      if (isGone(failureOf(error))) return undefined;
      throw isLeaseholdError(error, "FENCED") ? error : (unanswered ?? error);
    }
  }

  async #send<T extends Reply>(operation: string, writes: boolean, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, leadership, options } = this.#request;
    const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    return await requestService({ clock, election: leadership.election, operation, timeoutMs, writes, signal }, send);
  }
}

/** Reports whether a write has met another one of the same blob, or its removal. */
function isContended(error: unknown): boolean {
  const failure = failureOf(error);
  const vanished = isGone(failure) && !isContainerGone(failure);
  return conditionFailed(failure) || failure.code === "BlobAlreadyExists" || vanished;
}

function fenceOf({ election, term, termId }: Leadership): Record<string, string> {
  return { [KEY.election]: encodeURIComponent(election), [KEY.term]: String(term), [KEY.termId]: termId };
}

/** @throws {FencedError} if the blob belongs to a newer term, or to another holder of this one. */
function checkFence(leadership: Leadership, blob: BlobClient, metadata: Metadata, unanswered: unknown): void {
  const { election, term, termId } = leadership;
  const fence = [metadata[KEY.election], metadata[KEY.term], metadata[KEY.termId]];
  if (fence.every((field) => field === undefined)) return;
  const place = `the blob '${blob.name}'`;
  const currentTerm = wholeNumber(metadata[KEY.term]);
  const fencedBy = decoded(metadata[KEY.election]);
  if (currentTerm === undefined || fencedBy === undefined || !metadata[KEY.termId]) {
    throw new ForeignRecordError(election, place, "its metadata has a fence that cannot be read");
  }
  if (fencedBy !== election) {
    throw new ConfigurationError(
      `${place} is guarded by the election '${fencedBy}', not by '${election}': terms of two elections cannot be compared.`,
      { election },
    );
  }
  if (currentTerm > term || (currentTerm === term && metadata[KEY.termId] !== termId)) {
    throw new FencedError(election, term, currentTerm, place, unanswered);
  }
}

/** Returns the metadata without any fence. Metadata keys know no case: a fence in capitals would take the place of ours. */
function withoutFence(metadata: Metadata): Metadata {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => !key.toLowerCase().startsWith(FENCE_PREFIX)));
}

function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function checkBlob(blob: BlobClient): void {
  if (isBlobClient(blob)) return;
  throw new ConfigurationError("The target of a fenced write must be a BlobClient of @azure/storage-blob.");
}

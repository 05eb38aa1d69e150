import type { BlobClient, BlobHTTPHeaders } from "@azure/storage-blob";
import { ConfigurationError, FencedError, sendRequest, StoreError, type Clock, type Leadership } from "@leasehold/core";
import { conditionFailed, failureOf, isGone, mayHaveBeenApplied, STORE_NAME, toStoreError } from "./azure-blob-errors.ts";
import type { Metadata } from "./schema.ts";

export interface FenceOptions {
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

const KEY = { election: "leasehold_fence_election", term: "leasehold_fence_term", termId: "leasehold_fence_termid", write: "leasehold_fence_write" };
const DEFAULT_TIMEOUT_MS = 30_000;
/** How often a write is tried against other writers of the same blob. */
const CONFLICT_TRIES = 5;

/** The targets that a leadership has sealed or written, by URL: the next write needs no look first. */
const known = new WeakMap<Leadership, Map<string, Target>>();

/**
 * Marks a blob as written in this term, without touching its content: from then on the service refuses the fenced
 * writes of every older term. Call it before the work; until then a write of the term before still passes. A blob that
 * does not exist is created, empty.
 *
 * @throws {FencedError} if a newer term has sealed or written it. A `StoreError` if the service fails.
 */
export async function sealBlob(clock: Clock, leadership: Leadership, blob: BlobClient, options: FenceOptions): Promise<void> {
  await writeFenced(clock, leadership, blob, options, "seal", async (target, metadata, signal) => {
    if (target) {
      return await blob.setMetadata(metadata, { abortSignal: signal, conditions: { ifMatch: target.etag } });
    }
    return await blob.getBlockBlobClient().upload("", 0, { abortSignal: signal, conditions: { ifNoneMatch: "*" }, metadata });
  });
}

/**
 * Uploads content as the leader of this term, conditional on nobody else's having written since: the service refuses
 * it once a newer term has sealed or written the blob. Whether this process still believes in its leadership is not
 * asked: the refusal is the service's.
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
  await writeFenced(clock, leadership, blob, options, "fenced-upload", async (target, metadata, signal) =>
    blob.getBlockBlobClient().upload(bytes, bytes.byteLength, {
      abortSignal: signal,
      conditions: target ? { ifMatch: target.etag } : { ifNoneMatch: "*" },
      metadata: { ...metadata, ...options.metadata },
      ...(options.blobHTTPHeaders ? { blobHTTPHeaders: options.blobHTTPHeaders } : {}),
    }),
  );
}

type Write = (target: Target | undefined, metadata: Record<string, string>, signal: AbortSignal) => Promise<{ readonly etag?: string }>;

async function writeFenced(
  clock: Clock,
  leadership: Leadership,
  blob: BlobClient,
  options: FenceOptions,
  operation: string,
  write: Write,
): Promise<void> {
  checkBlob(blob);
  const { election } = leadership;
  const targets = known.get(leadership) ?? new Map<string, Target>();
  known.set(leadership, targets);
  const send = async <T>(name: string, writes: boolean, request: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    return await sendRequest({ clock, store: STORE_NAME, election, operation: name, timeoutMs, writes, signal }, async (attempt) => {
      try {
        return await request(attempt);
      } catch (error) {
        throw toStoreError(error, name, election, writes);
      }
    });
  };
  const look = async (): Promise<Target | undefined> => {
    try {
      const { etag = "", metadata = {} } = await send("head-target", false, (signal) => blob.getProperties({ abortSignal: signal }));
      checkFence(leadership, blob, metadata);
      return { etag, metadata };
    } catch (error) {
      if (isGone(failureOf(error))) return undefined;
      throw error;
    }
  };
  // Tells our own write, should its reply be lost, from anybody else's.
  const writeId = clock.randomUuid();
  let target = targets.get(blob.url) ?? (await look());
  for (let tries = 0; tries < CONFLICT_TRIES; tries += 1) {
    const metadata = { ...target?.metadata, ...fenceOf(leadership), [KEY.write]: writeId };
    const sent = target;
    try {
      const { etag = "" } = await send(operation, true, (signal) => write(sent, metadata, signal));
      targets.set(blob.url, { etag, metadata });
      return;
    } catch (error) {
      targets.delete(blob.url);
      const failure = failureOf(error);
      const contended = conditionFailed(failure) || failure.code === "BlobAlreadyExists" || isGone(failure);
      if (!contended && !mayHaveBeenApplied(error)) throw error;
      target = await look();
      if (target?.metadata[KEY.write] === writeId) {
        targets.set(blob.url, target);
        return;
      }
      if (!contended) throw error;
    }
  }
  throw new StoreError("STORE_CONFLICT", `${STORE_NAME}: others kept writing the blob '${blob.name}' during '${operation}'.`, {
    store: STORE_NAME,
    operation,
    election,
    mayHaveBeenApplied: false,
  });
}

function fenceOf({ election, term, termId }: Leadership): Record<string, string> {
  return { [KEY.election]: encodeURIComponent(election), [KEY.term]: String(term), [KEY.termId]: termId };
}

/** @throws {FencedError} if the blob belongs to a newer term, or to another holder of this one. */
function checkFence(leadership: Leadership, blob: BlobClient, metadata: Metadata): void {
  const { election, term, termId } = leadership;
  const fencedBy = metadata[KEY.election];
  if (fencedBy === undefined) return;
  if (fencedBy !== encodeURIComponent(election)) {
    throw new ConfigurationError(
      `The blob '${blob.name}' is guarded by the election '${decodeURIComponent(fencedBy)}', not by '${election}': terms of two elections cannot be compared.`,
      { election },
    );
  }
  const currentTerm = Number(metadata[KEY.term]);
  if (currentTerm > term || (currentTerm === term && metadata[KEY.termId] !== termId)) {
    throw new FencedError(election, term, currentTerm, `the blob '${blob.name}'`);
  }
}

function checkBlob(blob: BlobClient): void {
  if (typeof (blob as Partial<BlobClient> | undefined)?.getBlockBlobClient === "function") return;
  throw new ConfigurationError("The target of a fenced write must be a BlobClient of @azure/storage-blob.");
}

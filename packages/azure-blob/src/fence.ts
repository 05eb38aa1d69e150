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

const FENCE_PREFIX = "leasehold_fence_";
const KEY = {
  election: `${FENCE_PREFIX}election`,
  term: `${FENCE_PREFIX}term`,
  termId: `${FENCE_PREFIX}termid`,
  write: `${FENCE_PREFIX}write`,
};
const DEFAULT_TIMEOUT_MS = 30_000;
/** How often a write is tried against other writers of the same blob. */
const CONFLICT_TRIES = 5;

/** The targets that a leadership has lately sealed or written, by URL: the next write needs no look first. */
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
  await writeFenced(clock, leadership, blob, {}, options, "seal", async (target, metadata, signal) => {
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
  await writeFenced(clock, leadership, blob, options.metadata ?? {}, options, "fenced-upload", async (target, metadata, signal) =>
    blob.getBlockBlobClient().upload(bytes, bytes.byteLength, {
      abortSignal: signal,
      conditions: target ? { ifMatch: target.etag } : { ifNoneMatch: "*" },
      metadata,
      ...(options.blobHTTPHeaders ? { blobHTTPHeaders: options.blobHTTPHeaders } : {}),
    }),
  );
}

type Write = (
  target: Target | undefined,
  metadata: Record<string, string>,
  signal: AbortSignal,
) => Promise<Reply & { readonly etag?: string }>;

async function writeFenced(
  clock: Clock,
  leadership: Leadership,
  blob: BlobClient,
  added: Metadata,
  options: FenceOptions,
  operation: string,
  write: Write,
): Promise<void> {
  checkBlob(blob);
  const { election } = leadership;
  const targets = known.get(leadership) ?? new Recent<Target>(clock);
  known.set(leadership, targets);
  const send = async <T extends Reply>(
    name: string,
    writes: boolean,
    request: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    return await requestService({ clock, election, operation: name, timeoutMs, writes, signal }, request);
  };
  // `unanswered`: a write before this look, which may have been carried out.
  const look = async (unanswered?: unknown): Promise<Target | undefined> => {
    try {
      const { etag = "", metadata = {} } = await send("head-target", false, (signal) =>
        blob.getProperties({ abortSignal: signal }),
      );
      checkFence(leadership, blob, metadata, unanswered);
      return { etag, metadata };
    } catch (error) {
      if (isGone(failureOf(error))) return undefined;
      throw isLeaseholdError(error, "FENCED") ? error : (unanswered ?? error);
    }
  };
  // Tells our own write, should its reply be lost, from anybody else's.
  const writeId = clock.randomUuid();
  let target = targets.get(blob.url) ?? (await look());
  for (let tries = 0; tries < CONFLICT_TRIES; tries += 1) {
    const metadata = {
      ...withoutFence(target?.metadata ?? {}),
      ...withoutFence(added),
      ...fenceOf(leadership),
      [KEY.write]: writeId,
    };
    const sent = target;
    try {
      const { etag = "" } = await send(operation, true, (signal) => write(sent, metadata, signal));
      targets.set(blob.url, { etag, metadata });
      return;
    } catch (error) {
      targets.delete(blob.url);
      const failure = failureOf(error);
      const vanished = isGone(failure) && !isContainerGone(failure);
      const contended = conditionFailed(failure) || failure.code === "BlobAlreadyExists" || vanished;
      const unanswered = mayHaveBeenApplied(error);
      if (!contended && !unanswered) throw error;
      target = await look(unanswered ? error : undefined);
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

/** Metadata keys know no case: a fence in capitals would take the place of ours. */
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

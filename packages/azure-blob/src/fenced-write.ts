import type { BlobClient } from "@azure/storage-blob";
import { ConfigurationError, FencedError, isLeaseholdError, StoreError, type Leadership } from "@leasehold/core";
import { type Clock, mayHaveBeenApplied } from "@leasehold/core/provider";
import { conditionFailed, failureOf, isContainerGone, isGone, STORE_NAME } from "./azure-blob-errors.ts";
import { checkFence, fenceOf, WRITE_KEY, withoutFence } from "./fence-metadata.ts";
import { GuardedBlobs, type Target } from "./guarded-blobs.ts";
import { isBlobClient } from "./options.ts";
import { requestService, type Reply } from "./requests.ts";

/** A fenced write of one leadership to one blob. */
export interface FencedRequest {
  readonly clock: Clock;
  readonly leadership: Leadership;
  readonly blob: BlobClient;
  readonly operation: "seal" | "fenced-upload" | "fenced-delete";
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

/** Writes the given metadata, on the condition that the blob is still this target. With `undefined` the blob must not exist. */
export type SendWrite = (
  target: Target | undefined,
  metadata: Record<string, string>,
  abortSignal: AbortSignal,
) => Promise<Reply & { readonly etag?: string }>;

/** Deletes the blob, on the condition that it is still this target. */
export type SendDelete = (target: Target, abortSignal: AbortSignal) => Promise<Reply>;

/** The result of one attempt. `found` is the blob that the next attempt has to replace; `undefined` if there is no blob. */
type Attempt = { readonly done: true } | { readonly done: false; readonly found: Target | undefined };

const DEFAULT_TIMEOUT_MS = 30_000;
/** The number of tries against other writers of the same blob. */
const CONFLICT_TRIES = 5;
const DONE: Attempt = { done: true };

/** Writes or deletes a blob under its ETag, unless a newer term has sealed or written it. */
export class FencedWrite {
  readonly #request: FencedRequest;
  readonly #guarded: GuardedBlobs;
  readonly #url: string;

  /** @throws {ConfigurationError} if `blob` is not a `BlobClient`. */
  constructor(request: FencedRequest) {
    const { clock, leadership, blob } = request;
    checkBlob(blob);
    this.#request = request;
    this.#guarded = GuardedBlobs.of(leadership, clock);
    this.#url = blob.url;
  }

  /** Writes the blob, with `extra` in addition to its metadata. Creates a blob that this leadership has not seen. */
  async write(extra: Readonly<Record<string, string>>, send: SendWrite): Promise<void> {
    const { clock, leadership } = this.#request;
    // Marks this write, so that a read after a lost reply recognizes it.
    const writeId = clock.randomUuid();
    await this.#run(async (target) => {
      if (!target && this.#guarded.knows(this.#url)) throw this.#fencedByDelete();
      try {
        const metadata = {
          ...withoutFence(target?.metadata ?? {}),
          ...withoutFence(extra),
          ...fenceOf(leadership),
          [WRITE_KEY]: writeId,
        };
        const { etag = "" } = await this.#send(true, async (signal) => await send(target, metadata, signal));
        this.#guarded.wrote(this.#url, { etag, metadata });
        return DONE;
      } catch (error) {
        const found = await this.#foundAfter(error, target === undefined);
        if (found?.metadata[WRITE_KEY] !== writeId) return this.#unlessLost(error, found);
        this.#guarded.wrote(this.#url, found);
        return DONE;
      }
    });
  }

  /** Deletes the blob if it exists. */
  async delete(send: SendDelete): Promise<void> {
    await this.#run(async (target) => {
      if (!target) return DONE;
      try {
        await this.#send(true, async (signal) => await send(target, signal));
        this.#guarded.deleted(this.#url);
        return DONE;
      } catch (error) {
        // Another writer may have deleted the blob. Then this leadership does not create it again.
        const found = await this.#foundAfter(error, false);
        return found ? this.#unlessLost(error, found) : DONE;
      }
    });
  }

  async #run(attempt: (target: Target | undefined) => Promise<Attempt>): Promise<void> {
    const { blob, leadership, operation } = this.#request;
    let target = this.#guarded.target(this.#url) ?? (await this.#read());
    for (let tries = 0; tries < CONFLICT_TRIES; tries += 1) {
      const outcome = await attempt(target);
      if (outcome.done) return;
      target = outcome.found;
    }
    throw new StoreError("STORE_CONFLICT", `${STORE_NAME}: others kept writing the blob '${blob.name}' during '${operation}'.`, {
      store: STORE_NAME,
      operation,
      election: leadership.election,
      mayHaveBeenApplied: false,
    });
  }

  /** Reads the blob after a conflict or a lost reply. @throws any other failure, and a {FencedError}. */
  async #foundAfter(error: unknown, wasMissing: boolean): Promise<Target | undefined> {
    this.#guarded.forgetTarget(this.#url);
    const isUnanswered = mayHaveBeenApplied(error);
    if (!isContended(error) && !isUnanswered) throw error;
    // The creation was refused because the blob exists.
    if (wasMissing && isContended(error) && !isGone(failureOf(error))) this.#guarded.saw(this.#url);
    return await this.#read(isUnanswered ? error : undefined);
  }

  /** Continues with the blob that was found after a conflict. @throws the failure if there was no conflict, but a lost reply. */
  #unlessLost(error: unknown, found: Target | undefined): Attempt {
    if (!isContended(error)) throw error;
    return { done: false, found };
  }

  /**
   * Reads the blob's metadata.
   * @param unanswered the error of a write that may have been carried out. It is thrown if the read fails too.
   * @returns `undefined` if there is no blob.
   * @throws {FencedError} if a newer term has sealed or written the blob.
   */
  async #read(unanswered?: unknown): Promise<Target | undefined> {
    const { leadership, blob } = this.#request;
    try {
      const { etag = "", metadata = {} } = await this.#send(false, (abortSignal) => blob.getProperties({ abortSignal }));
      this.#guarded.saw(this.#url);
      checkFence(leadership, blob, metadata, unanswered);
      return { etag, metadata };
    } catch (error) {
      if (isGone(failureOf(error))) return undefined;
      throw isLeaseholdError(error, "FENCED") ? error : (unanswered ?? error);
    }
  }

  async #send<T extends Reply>(writes: boolean, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, leadership, operation, signal, timeoutMs = DEFAULT_TIMEOUT_MS } = this.#request;
    const label = { election: leadership.election, operation: writes ? operation : "head-target", writes };
    return await requestService({ ...label, clock, timeoutMs, signal }, send);
  }

  #fencedByDelete(): FencedError {
    const { leadership, blob } = this.#request;
    const place = `the blob '${blob.name}' (deleted since this leadership saw it; only a later leadership may create it again)`;
    return new FencedError(leadership.election, leadership.term, undefined, place);
  }
}

/** Returns whether a write conflicted with another write of the same blob, or with its deletion. */
function isContended(error: unknown): boolean {
  const failure = failureOf(error);
  const vanished = isGone(failure) && !isContainerGone(failure);
  return conditionFailed(failure) || failure.code === "BlobAlreadyExists" || vanished;
}

function checkBlob(blob: BlobClient): void {
  if (isBlobClient(blob)) return;
  throw new ConfigurationError("The target of a fenced write must be a BlobClient of @azure/storage-blob.");
}

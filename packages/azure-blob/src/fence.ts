import type { BlobClient, BlobHTTPHeaders } from "@azure/storage-blob";
import type { Clock, Leadership } from "@leasehold/core";
import { FencedWrite } from "./fenced-write.ts";

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

/**
 * Marks a blob as written in this term, without touching its content: from then on the service refuses the fenced
 * writes of every older term. Call it before the work; until then a write of the term before still passes. A blob that
 * does not exist is created, empty, unless this leadership has seen it before.
 *
 * It binds those who use it: a plain upload by anybody else overwrites the blob, fence and all. Let only leaders write.
 *
 * @throws {FencedError} if a newer term has sealed or written it, or if it was deleted since this leadership saw it. A
 * `StoreError` if the service fails.
 */
export async function sealBlob(clock: Clock, leadership: Leadership, blob: BlobClient, options: FenceOptions): Promise<void> {
  const { signal, timeoutMs } = options;
  // A seal leaves the metadata as it is, whatever else the object holds.
  await new FencedWrite({ clock, leadership, blob, operation: "seal", signal, timeoutMs }).write(
    {},
    async (target, metadata, abortSignal) =>
      target
        ? await blob.setMetadata(metadata, { abortSignal, conditions: { ifMatch: target.etag } })
        : await blob.getBlockBlobClient().upload("", 0, { abortSignal, conditions: { ifNoneMatch: "*" }, metadata }),
  );
}

/**
 * Uploads content as the leader of this term, conditional on nobody else's having written since: the service refuses
 * it once a newer term has sealed or written the blob. It does not ask whether this process still believes in its
 * leadership: the refusal is the service's.
 *
 * A deleted blob has no fence any more. A leadership that has seen the blob does not create it again; one that has never
 * seen it may, also if it is deposed.
 *
 * @throws {FencedError} if it was refused, or if the blob was deleted since this leadership saw it; nothing was written. A
 * `StoreError` if the service fails.
 */
export async function uploadFenced(
  clock: Clock,
  leadership: Leadership,
  blob: BlobClient,
  content: string | Uint8Array,
  options: FencedUploadOptions,
): Promise<void> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const { blobHTTPHeaders, signal, timeoutMs } = options;
  await new FencedWrite({ clock, leadership, blob, operation: "fenced-upload", signal, timeoutMs }).write(
    options.metadata ?? {},
    async (target, metadata, abortSignal) =>
      await blob.getBlockBlobClient().upload(bytes, bytes.byteLength, {
        abortSignal,
        conditions: target ? { ifMatch: target.etag } : { ifNoneMatch: "*" },
        metadata,
        ...(blobHTTPHeaders ? { blobHTTPHeaders } : {}),
      }),
  );
}

/**
 * Deletes a blob as the leader of this term: the service refuses it once a newer term has sealed or written the blob. A blob
 * that is missing is left so, without an error.
 *
 * The fence goes with the blob. Afterwards a deposed leader that has never seen the blob can create it; so can a write that
 * is on its way already. To keep such writes out, upload an empty blob instead, or seal it again.
 *
 * @throws {FencedError} if it was refused; the blob is still there. A `StoreError` if the service fails.
 */
export async function deleteFenced(clock: Clock, leadership: Leadership, blob: BlobClient, options: FenceOptions): Promise<void> {
  const { signal, timeoutMs } = options;
  await new FencedWrite({ clock, leadership, blob, operation: "fenced-delete", signal, timeoutMs }).delete(
    async ({ etag }, abortSignal) => await blob.delete({ abortSignal, conditions: { ifMatch: etag } }),
  );
}

import type { BlobClient, BlobHTTPHeaders } from "@azure/storage-blob";
import type { Clock } from "@leasehold/core/provider";
import type { Leadership } from "@leasehold/core";
import { FencedWrite } from "./fenced-write.ts";

export interface FenceOptions {
  /**
   * Ends the wait for the service. For a seal, pass the leadership's own signal: once that aborts, there is no work to prepare.
   */
  readonly signal?: AbortSignal | undefined;
  /** The longest time of each request. @defaultValue 30_000 */
  readonly timeoutMs?: number | undefined;
}

export interface FencedUploadOptions extends FenceOptions {
  /** Metadata that is set in addition to the blob's present metadata. */
  readonly metadata?: Record<string, string> | undefined;
  /**
   * The HTTP headers of the blob. As with any upload, those that are not given are reset: content type, cache control and so on.
   */
  readonly blobHTTPHeaders?: BlobHTTPHeaders | undefined;
}

/**
 * Marks a blob as written in this term, without a change of its content. From then on the service refuses the fenced writes of
 * every older term. Call it before the work: until then a write of an older term still succeeds. If the blob does not exist, it
 * is created empty, unless this leadership has seen it before.
 *
 * Only fenced writes respect the fence. A plain upload overwrites the blob and its fence, so let only leaders write.
 *
 * @throws {FencedError} if a newer term has sealed or written the blob, or if it was deleted since this leadership saw it. A
 *   `StoreError` if the service fails.
 */
export async function sealBlob(clock: Clock, leadership: Leadership, blob: BlobClient, options: FenceOptions): Promise<void> {
  const { signal, timeoutMs } = options;
  // A seal keeps the blob's other metadata, whatever `options` contains at run time.
  await new FencedWrite({ clock, leadership, blob, operation: "seal", signal, timeoutMs }).write(
    {},
    async (target, metadata, abortSignal) =>
      target
        ? await blob.setMetadata(metadata, { abortSignal, conditions: { ifMatch: target.etag } })
        : await blob.getBlockBlobClient().upload("", 0, { abortSignal, conditions: { ifNoneMatch: "*" }, metadata }),
  );
}

/**
 * Uploads content as the leader of this term. The upload is conditional on the blob's version. The service refuses it once a
 * newer term has sealed or written the blob. It does not check whether this process still believes that it leads: the service
 * decides.
 *
 * A deleted blob has no fence. A leadership that has seen the blob does not create it again. A leadership that has never seen it
 * may create it, even a deposed one.
 *
 * @throws {FencedError} if the service refused it, or if the blob was deleted since this leadership saw it. Nothing was written
 *   then. A `StoreError` if the service fails.
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
 * Deletes a blob as the leader of this term. The service refuses it once a newer term has sealed or written the blob. A missing
 * blob is not an error.
 *
 * The fence is deleted together with the blob. A deposed leader that has never seen the blob can create it afterwards. So can a
 * delayed write that was sent before the deletion. To keep such writes out, upload an empty blob instead, or seal the blob again.
 *
 * @throws {FencedError} if the service refused it; the blob still exists. A `StoreError` if the service fails.
 */
export async function deleteFenced(clock: Clock, leadership: Leadership, blob: BlobClient, options: FenceOptions): Promise<void> {
  const { signal, timeoutMs } = options;
  await new FencedWrite({ clock, leadership, blob, operation: "fenced-delete", signal, timeoutMs }).delete(
    async ({ etag }, abortSignal) => await blob.delete({ abortSignal, conditions: { ifMatch: etag } }),
  );
}

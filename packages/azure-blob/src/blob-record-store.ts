import type { BlockBlobClient } from "@azure/storage-blob";
import {
  AGE_UNCERTAINTY_MS,
  decodeName,
  IMPOSSIBLE_VERSION,
  type GetOptions,
  type LeaseRecord,
  type ListedRecord,
  type ListRecordsOptions,
  type PutOptions,
  type PutOutcome,
  type RecordRequestOptions,
  type RecordStore,
  type RecordStoreCapabilities,
  type StoredRecord,
} from "@leasehold/core/provider";
import { conditionFailed, failureOf, isContainerGone, isGone, STORE_NAME, unlessItExists } from "./azure-blob-errors.ts";
import { blobPage, nextPage, type ListPage } from "./blob-page.ts";
import { ageBoundsMs } from "./clock.ts";
import { occurrenceBlobName, type BlobPlace } from "./options.ts";
import { IMPOSSIBLE_ETAG, serviceReply } from "./requests.ts";

/**
 * Stores each record as the content of one blob. Writes are conditional on the ETag. The blob's own lease is not used: an
 * occurrence that is done must stay done. A lease cannot record that, and a conditional write records it in one request.
 *
 * The age of the nonce is the age of the blob. An administrator's write keeps the nonce, but the blob is then new and the age
 * begins again. So an expiry is found later, never sooner.
 */
export class BlobRecordStore implements RecordStore {
  readonly name: string = STORE_NAME;
  readonly capabilities: RecordStoreCapabilities;
  readonly list?: NonNullable<RecordStore["list"]>;
  readonly #place: Pick<BlobPlace, "container" | "createsContainer">;
  readonly #prefix: string;

  /**
   * @param prefix the beginning of the blobs' names. Every blob with this prefix belongs to this store.
   * @param lists true if the store can list its records. Occurrences are not listed.
   */
  constructor(place: Pick<BlobPlace, "container" | "createsContainer">, prefix: string, lists: boolean = false) {
    this.#place = place;
    this.#prefix = prefix;
    this.capabilities = {
      maxValueBytes: 65_536,
      fence: "none",
      // An expiry may be found late by the width of the age's bounds.
      storeClock: { toleranceMs: 2 * AGE_UNCERTAINTY_MS, exact: false },
      ...(lists ? { fleet: true } : {}),
    };
    if (lists) this.list = (begin, options) => this.#list(begin, options);
  }

  /** Lists the blobs of a page, and then reads each record: a listing shows no content. */
  async *#list(prefix: string, { pageSize, request }: ListRecordsOptions): AsyncGenerator<ListedRecord> {
    let from: string | undefined;
    do {
      const page = { prefix: occurrenceBlobName(this.#prefix, prefix), pageSize, from };
      const { blobs, next } = await request(({ signal }) => this.#page(prefix, page, signal));
      for (const blob of blobs) {
        const election = decodeName(blob.slice(this.#prefix.length));
        if (election === undefined) continue;
        const stored = await request(({ signal }) => this.get(election, { signal, consistent: true }));
        if (stored) yield { election, stored };
      }
      from = next;
    } while (from !== undefined);
  }

  async #page(
    election: string,
    page: ListPage & { readonly prefix: string },
    signal: AbortSignal,
  ): Promise<{ readonly blobs: readonly string[]; readonly next: string | undefined }> {
    try {
      const reply = await serviceReply({ operation: "list", election, writes: false }, () =>
        blobPage(this.#place.container, page, signal),
      );
      return { blobs: reply.segment.blobItems.map(({ name }) => name), next: nextPage(reply) };
    } catch (error) {
      if (isGone(failureOf(error))) return { blobs: [], next: undefined };
      throw error;
    }
  }

  async get(election: string, { signal }: GetOptions): Promise<StoredRecord | undefined> {
    const blob = this.#blob(election);
    let content = "";
    try {
      const reply = await serviceReply({ operation: "get", election, writes: false }, async () => {
        // By default the SDK itself requests the rest of a reply that breaks off.
        const response = await blob.download(0, undefined, { abortSignal: signal, maxRetryRequests: 0 });
        content = await textOf(response.readableStreamBody);
        return response;
      });
      return { data: parsed(content), version: reply.etag ?? "", nonceAgeMs: ageBoundsMs(reply) };
    } catch (error) {
      if (isGone(failureOf(error))) return undefined;
      throw error;
    }
  }

  async put(election: string, record: LeaseRecord, { ifVersion, signal }: PutOptions): Promise<PutOutcome> {
    const blob = this.#blob(election);
    const content = new TextEncoder().encode(JSON.stringify(record));
    const upload = async (): Promise<string> => {
      const conditions =
        ifVersion === undefined
          ? { ifNoneMatch: "*" }
          : { ifMatch: ifVersion === IMPOSSIBLE_VERSION ? IMPOSSIBLE_ETAG : ifVersion };
      const blobHTTPHeaders = { blobContentType: "application/json" };
      const { etag = "" } = await serviceReply({ operation: "put", election, writes: true }, () =>
        blob.upload(content, content.byteLength, { abortSignal: signal, conditions, blobHTTPHeaders }),
      );
      return etag;
    };
    try {
      const version = await upload().catch(async (error: unknown) => {
        if (!this.#place.createsContainer || ifVersion !== undefined || !isContainerGone(failureOf(error))) throw error;
        await this.#createContainer(election, { signal });
        return await upload();
      });
      return { stored: true, version };
    } catch (error) {
      const failure = failureOf(error);
      const exists = ifVersion === undefined && failure.code === "BlobAlreadyExists";
      const vanished = ifVersion !== undefined && isGone(failure);
      if (exists || vanished || conditionFailed(failure)) return { stored: false };
      throw error;
    }
  }

  async #createContainer(election: string, { signal }: RecordRequestOptions): Promise<void> {
    await serviceReply({ operation: "create-container", election, writes: true }, () =>
      this.#place.container.create({ abortSignal: signal }),
    ).catch(unlessItExists);
  }

  #blob(election: string): BlockBlobClient {
    return this.#place.container.getBlockBlobClient(occurrenceBlobName(this.#prefix, election));
  }
}

/** Returns the parsed content, or `undefined` if it is not JSON. The engine refuses a value that is not a record. */
function parsed(content: string): unknown {
  try {
    return JSON.parse(content) as unknown;
  } catch {
    return undefined;
  }
}

async function textOf(stream: AsyncIterable<unknown> | undefined): Promise<string> {
  const decoder = new TextDecoder();
  let content = "";
  for await (const chunk of stream ?? []) content += decoder.decode(chunk as Uint8Array, { stream: true });
  return content + decoder.decode();
}

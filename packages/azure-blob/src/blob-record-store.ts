import type { BlockBlobClient, ContainerClient } from "@azure/storage-blob";
import type {
  GetOptions,
  LeaseRecord,
  PutOptions,
  PutOutcome,
  RecordRequestOptions,
  RecordStore,
  RecordStoreCapabilities,
  StoredRecord,
} from "@leasehold/core/provider";
import { conditionFailed, failureOf, isContainerGone, isGone, STORE_NAME, unlessItExists } from "./azure-blob-errors.ts";
import { AGE_UNCERTAINTY_MS, ageBoundsMs } from "./clock.ts";
import { occurrenceBlobName } from "./options.ts";
import { serviceReply } from "./requests.ts";

/**
 * One blob per record, with the record as its content, compared and swapped on its ETag. The blob's own lease takes no
 * part: what is done must stay done, which no lease can tell, and a conditional write says it in one request.
 *
 * The nonce is as old as the blob. What an administrator writes keeps the nonce and renews the blob all the same: the age
 * begins again, so that an expiry is found later for it, and never sooner.
 */
export class BlobRecordStore implements RecordStore {
  readonly name: string = STORE_NAME;
  readonly capabilities: RecordStoreCapabilities = {
    maxValueBytes: 65_536,
    fence: "none",
    // How late an expiry may be found: all that seconds and machines may hide, and as much that is kept clear of.
    storeClock: { toleranceMs: 2 * AGE_UNCERTAINTY_MS, exact: false },
  };
  readonly #container: ContainerClient;
  readonly #prefix: string;

  /** @param prefix of the blobs' names: what lies below it is all this store's. */
  constructor(container: ContainerClient, prefix: string) {
    this.#container = container;
    this.#prefix = prefix;
  }

  async get(election: string, { signal }: GetOptions): Promise<StoredRecord | undefined> {
    const blob = this.#blob(election);
    let content = "";
    try {
      const reply = await serviceReply({ operation: "get", election, writes: false }, async () => {
        // Where a reply breaks off, the SDK would ask for the rest by itself.
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
      const conditions = ifVersion === undefined ? { ifNoneMatch: "*" } : { ifMatch: ifVersion };
      const blobHTTPHeaders = { blobContentType: "application/json" };
      const { etag = "" } = await serviceReply({ operation: "put", election, writes: true }, () =>
        blob.upload(content, content.byteLength, { abortSignal: signal, conditions, blobHTTPHeaders }),
      );
      return etag;
    };
    try {
      const version = await upload().catch(async (error: unknown) => {
        if (ifVersion !== undefined || !isContainerGone(failureOf(error))) throw error;
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
      this.#container.create({ abortSignal: signal }),
    ).catch(unlessItExists);
  }

  #blob(election: string): BlockBlobClient {
    return this.#container.getBlockBlobClient(occurrenceBlobName(this.#prefix, election));
  }
}

/** What the engine then calls a foreign record, where it is no JSON. */
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

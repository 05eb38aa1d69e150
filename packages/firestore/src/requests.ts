import { onAbort } from "@leasehold/core/provider";
import type { Firestore } from "@google-cloud/firestore";
import { ConfigurationError } from "@leasehold/core";
import { isConditionFailed, toStoreError } from "./firestore-errors.ts";
import type { IdRange } from "./paths.ts";
import type { WireFields, WireTime } from "./wire.ts";

/** A document in the form of the wire protocol. */
export interface WireDocument {
  readonly fields: WireFields;
  readonly updateTime: WireTime;
}

/** One of the writes of a commit. */
export interface Write {
  readonly path: string;
  readonly fields: WireFields;
  readonly updateMask?: { readonly fieldPaths: readonly string[] };
  readonly currentDocument?: { readonly exists: boolean } | { readonly updateTime: WireTime };
}

/** The result of a read of one document, and the time of the read by Firestore's clock. */
export interface WireReading {
  readonly document: WireDocument | undefined;
  readonly readTime: WireTime;
}

/** The documents of one page, and the time of the read by Firestore's clock. */
export interface WirePage {
  /** `name` is the full name of the document. */
  readonly documents: ReadonlyArray<WireDocument & { readonly name: string }>;
  readonly readTime: WireTime;
}

interface QueryReply {
  readonly document?: (WireDocument & { readonly name: string }) | null;
  readonly readTime?: WireTime | null;
}
interface CommitReply {
  readonly writeResults?: readonly { readonly updateTime?: WireTime | null }[] | null;
}
interface ReadReply {
  readonly found?: WireDocument | null;
  readonly missing?: string | null;
  readonly readTime?: WireTime | null;
}

/** The methods whose reply is a stream. */
type Streamed = "batchGetDocuments" | "runQuery";

/** The generated client of the API, on which the SDK is built. */
interface ApiClient {
  /** Gets the credentials. Each later call returns the first result again, even a rejection. */
  initialize(): Promise<unknown>;
  /** The stored result of `initialize`. */
  firestoreStub?: Promise<unknown> | undefined;
  /** True if the client follows the retry codes of a call for streams as well. Absent before version 7.9. */
  readonly descriptors?: { readonly stream?: Partial<Record<Streamed, { readonly gaxStreamingRetries?: boolean }>> };
  commit(request: object, options: object): Promise<readonly [CommitReply]>;
  batchGetDocuments(request: object, options: object): NodeJS.ReadableStream & { cancel(): void };
  runQuery(request: object, options: object): NodeJS.ReadableStream & { cancel(): void };
}

/**
 * The parts of a `Firestore` that are not public. Only this file uses them. The public methods send a request up to five times,
 * for longer than a lease lasts. No option ends that loop, and no call can be cancelled.
 */
interface Internals {
  readonly formattedName: string;
  initializeIfNeeded(requestTag: string): Promise<void>;
  createCallOptions(method: string, retryCodes?: readonly number[]): object;
  readonly _clientPool: {
    run<T>(requestTag: string, requiresGrpc: boolean, use: (client: ApiClient) => Promise<T>): Promise<T>;
  };
}

const REQUEST_TAG = "leasehold";
/** The gRPC codes after which the SDK retries: none. */
const NEVER: readonly number[] = [];
/** By default a stream that fails is opened twice more, whatever its status. */
const NO_STREAM_RETRIES = { noResponseRetries: 0 };

/** Calls Firestore's API through the user's `Firestore`. Each request is sent once, and is cancelled when its signal aborts. */
export class FirestoreRequests {
  readonly #firestore: Internals;

  /** @throws {ConfigurationError} unless `firestore` is a `Firestore` whose retries can be turned off. */
  constructor(firestore: Firestore) {
    this.#firestore = internalsOf(firestore);
  }

  /**
   * Resolves once there are credentials. Await it before the SDK's own methods use the API. Without credentials the SDK leaves an
   * unhandled rejection, which ends the process.
   * @throws {StoreError} if there are no credentials.
   */
  async ready(election: string, signal: AbortSignal): Promise<void> {
    await this.#call("watch", election, signal, () => Promise.resolve());
  }

  /** @throws {StoreError} for every failure. */
  async read(election: string, path: string, signal: AbortSignal): Promise<WireReading> {
    return await this.#call("get", election, signal, async (client, options) => {
      const request = { database: this.#firestore.formattedName, documents: [this.#nameOf(path)] };
      const stream = client.batchGetDocuments(request, options);
      const stopListening = onAbort(signal, () => stream.cancel());
      try {
        return await new Promise<WireReading>((resolve, reject) => {
          stream.on("data", ({ found, missing, readTime }: ReadReply) => {
            if (readTime && (found || missing)) resolve({ document: found ?? undefined, readTime });
          });
          stream.on("error", reject);
          stream.on("end", () => reject(new Error("the reply says nothing of the document")));
        });
      } finally {
        stopListening();
      }
    });
  }

  /**
   * Reads at most `limit` documents of a collection, in the order of their ids.
   * @param prefix the prefix of the list, for messages.
   * @throws {StoreError} for every failure.
   */
  async query(prefix: string, collection: string, range: IdRange, limit: number, signal: AbortSignal): Promise<WirePage> {
    return await this.#call("list", prefix, signal, async (client, options) => {
      const documents: (WireDocument & { readonly name: string })[] = [];
      const names = (id: string): string => this.#nameOf(`${collection}/${id}`);
      const parent = this.#nameOf(collection).split("/").slice(0, -1).join("/");
      const request = { parent, structuredQuery: queryOf(collection, range, limit, names) };
      const stream = client.runQuery(request, options);
      const stopListening = onAbort(signal, () => stream.cancel());
      try {
        return await new Promise<WirePage>((resolve, reject) => {
          let readAt: WireTime | undefined;
          stream.on("data", ({ document, readTime }: QueryReply) => {
            if (document) documents.push(document);
            readAt = readTime ?? readAt;
          });
          stream.on("error", reject);
          stream.on("end", () => {
            if (readAt) resolve({ documents, readTime: readAt });
            else reject(new Error("the reply has no read time"));
          });
        });
      } finally {
        stopListening();
      }
    });
  }

  /**
   * Commits all writes, or none. Returns the update time of the first document; `undefined` if a precondition did not hold.
   * @throws {StoreError} for every failure.
   */
  async commit(election: string, writes: readonly Write[], signal: AbortSignal): Promise<WireTime | undefined> {
    return await this.#call("put", election, signal, async (client, options) => {
      const request = {
        database: this.#firestore.formattedName,
        writes: writes.map(({ path, fields, ...rest }) => ({ update: { name: this.#nameOf(path), fields }, ...rest })),
      };
      try {
        // The promise of the generated client cannot be cancelled. The gRPC call that it stands for ends when `signal` aborts.
        const [{ writeResults }] = await client.commit(request, { ...options, signal });
        const updateTime = writeResults?.[0]?.updateTime;
        if (!updateTime) throw new Error("the reply has no update time");
        return updateTime;
      } catch (error) {
        if (isConditionFailed(error)) return undefined;
        throw error;
      }
    });
  }

  /** Returns the full name of a document. Call it only after the client is initialized, because the name contains the project. */
  #nameOf(path: string): string {
    return `${this.#firestore.formattedName}/documents/${path}`;
  }

  /**
   * Returns options that turn off the retries of streams. The SDK has two ways to retry them, and each refuses the options of the
   * other.
   */
  #readOptions({ descriptors }: ApiClient, method: Streamed): object {
    if (descriptors?.stream?.[method]?.gaxStreamingRetries) return this.#firestore.createCallOptions(method, NEVER);
    return { ...this.#firestore.createCallOptions(method), retryRequestOptions: NO_STREAM_RETRIES };
  }

  async #call<T>(
    operation: "get" | "list" | "put" | "watch",
    election: string,
    signal: AbortSignal,
    send: (client: ApiClient, options: object) => Promise<T>,
  ): Promise<T> {
    const writes = operation === "put";
    let isSent = false;
    try {
      await this.#firestore.initializeIfNeeded(REQUEST_TAG);
      return await this.#firestore._clientPool.run(REQUEST_TAG, operation === "watch", async (client) => {
        await initialized(client);
        signal.throwIfAborted();
        isSent = true;
        const method = operation === "list" ? "runQuery" : "batchGetDocuments";
        return await send(
          client,
          writes ? this.#firestore.createCallOptions("commit", NEVER) : this.#readOptions(client, method),
        );
      });
    } catch (error) {
      throw toStoreError(error, operation, election, writes && isSent);
    }
  }
}

/** Returns a query for the documents of a collection whose ids are in the range. `nameOf` returns the full name of an id. */
function queryOf(collection: string, range: IdRange, limit: number, nameOf: (id: string) => string): object {
  const field = { fieldPath: "__name__" };
  const bounds = { GREATER_THAN_OR_EQUAL: range.from, GREATER_THAN: range.after, LESS_THAN: range.end };
  const filters = Object.entries(bounds).flatMap(([op, id]) =>
    id === undefined ? [] : [{ fieldFilter: { field, op, value: { referenceValue: nameOf(id) } } }],
  );
  return {
    from: [{ collectionId: collection.slice(collection.lastIndexOf("/") + 1) }],
    ...(filters.length > 0 ? { where: { compositeFilter: { op: "AND", filters } } } : {}),
    orderBy: [{ field, direction: "ASCENDING" }],
    limit: { value: limit },
  };
}

/** Makes a client get its credentials. Drops a stored failure, so that the next call tries again. */
async function initialized(client: ApiClient): Promise<void> {
  try {
    await client.initialize();
  } catch (error) {
    client.firestoreStub = undefined;
    throw error;
  }
}

/** @throws {ConfigurationError} unless `firestore` is a `Firestore` with the methods that this file uses. */
function internalsOf(firestore: Firestore): Internals {
  const { collection, runTransaction } = (firestore ?? {}) as Partial<Firestore>;
  if (typeof collection !== "function" || typeof runTransaction !== "function") {
    throw new ConfigurationError(
      "firestore is not a Firestore of @google-cloud/firestore (firebase-admin's getFirestore() gives one).",
    );
  }
  const internals = firestore as unknown as Partial<Internals>;
  const known = [typeof internals.initializeIfNeeded, typeof internals.createCallOptions, typeof internals._clientPool?.run];
  if (known.every((type) => type === "function")) return firestore as unknown as Internals;
  throw new ConfigurationError(
    "This version of @google-cloud/firestore has retries that outlive a lease and cannot be turned off. Use a version that @leasehold/firestore was tested with.",
  );
}

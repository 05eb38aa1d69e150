import type { Firestore } from "@google-cloud/firestore";
import { ConfigurationError } from "@leasehold/core";
import { isConditionFailed, toStoreError } from "./firestore-errors.ts";
import type { WireFields, WireTime } from "./wire.ts";

/** A document as the wire has it. */
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

/** A read of one document: what was found, and when by Firestore's clock. */
export interface WireReading {
  readonly document: WireDocument | undefined;
  readonly readTime: WireTime;
}

interface CommitReply {
  readonly writeResults?: readonly { readonly updateTime?: WireTime | null }[] | null;
}
interface ReadReply {
  readonly found?: WireDocument | null;
  readonly missing?: string | null;
  readonly readTime?: WireTime | null;
}

/** The generated client of the API that the SDK stands on. */
interface ApiClient {
  /** Gets the credentials; what it gave the first time it gives again, a rejection too. */
  initialize(): Promise<unknown>;
  /** What it gave. */
  firestoreStub?: Promise<unknown> | undefined;
  /** Whether it heeds the setting that has streams retried as other calls are: before 7.9 it did not know it. */
  readonly descriptors?: { readonly stream?: { readonly batchGetDocuments?: { readonly gaxStreamingRetries?: boolean } } };
  commit(request: object, options: object): Promise<readonly [CommitReply]>;
  batchGetDocuments(request: object, options: object): NodeJS.ReadableStream & { cancel(): void };
}

/**
 * The parts of a `Firestore` that it does not publish, and that this file alone uses: its own methods send a request up
 * to five times over, in a loop that no option ends, for longer than a lease lasts; and they cannot be cancelled.
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
/** The codes after which to retry. */
const NEVER: readonly number[] = [];
/** By default a stream that fails is opened twice more, whatever its status. */
const NO_STREAM_RETRIES = { noResponseRetries: 0 };

/** Calls of Firestore's API through the user's `Firestore`, each sent once, and cancelled when its signal says so. */
export class FirestoreRequests {
  readonly #firestore: Internals;

  /** @throws {ConfigurationError} unless it is a `Firestore` whose retries can be kept off. */
  constructor(firestore: Firestore) {
    this.#firestore = internalsOf(firestore);
  }

  /**
   * Resolves once there are credentials. To be awaited before whatever of the SDK's own uses the API: without credentials the
   * SDK leaves a rejection that nobody handles, which ends the process.
   * @throws {StoreError} if there are none.
   */
  async ready(election: string, signal: AbortSignal): Promise<void> {
    await this.#call("watch", election, signal, () => Promise.resolve());
  }

  /** @throws {StoreError} whatever goes wrong. */
  async read(election: string, path: string, signal: AbortSignal): Promise<WireReading> {
    return await this.#call("get", election, signal, async (client, options) => {
      const request = { database: this.#firestore.formattedName, documents: [this.#nameOf(path)] };
      const stream = client.batchGetDocuments(request, options);
      const onAbort = (): void => stream.cancel();
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        return await new Promise<WireReading>((resolve, reject) => {
          stream.on("data", ({ found, missing, readTime }: ReadReply) => {
            if (readTime && (found || missing)) resolve({ document: found ?? undefined, readTime });
          });
          stream.on("error", reject);
          stream.on("end", () => reject(new Error("the reply says nothing of the document")));
        });
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    });
  }

  /**
   * Commits the writes, all or none. Returns the update time of the first document, or `undefined` if a precondition
   * did not hold.
   * @throws {StoreError} whatever goes wrong.
   */
  async commit(election: string, writes: readonly Write[], signal: AbortSignal): Promise<WireTime | undefined> {
    return await this.#call("put", election, signal, async (client, options) => {
      const request = {
        database: this.#firestore.formattedName,
        writes: writes.map(({ path, fields, ...rest }) => ({ update: { name: this.#nameOf(path), fields }, ...rest })),
      };
      try {
        // The generated client's own promise cannot be cancelled; what it calls heeds the signal.
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

  /** The full name of a document; not before it is known which project this is. */
  #nameOf(path: string): string {
    return `${this.#firestore.formattedName}/documents/${path}`;
  }

  /** Streams are retried in one of two ways, which exclude each other's options. */
  #readOptions({ descriptors }: ApiClient): object {
    const method = "batchGetDocuments";
    if (descriptors?.stream?.batchGetDocuments?.gaxStreamingRetries) return this.#firestore.createCallOptions(method, NEVER);
    return { ...this.#firestore.createCallOptions(method), retryRequestOptions: NO_STREAM_RETRIES };
  }

  async #call<T>(
    operation: "get" | "put" | "watch",
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
        return await send(client, writes ? this.#firestore.createCallOptions("commit", NEVER) : this.#readOptions(client));
      });
    } catch (error) {
      throw toStoreError(error, operation, election, writes && isSent);
    }
  }
}

/** Has a client get its credentials, each time anew while there are none. */
async function initialized(client: ApiClient): Promise<void> {
  try {
    await client.initialize();
  } catch (error) {
    client.firestoreStub = undefined;
    throw error;
  }
}

/** @throws {ConfigurationError} */
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
    "This version of @google-cloud/firestore does not let its retries, which outlive a lease, be kept off. Use a version that @leasehold/firestore was tested with.",
  );
}

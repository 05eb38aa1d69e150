import { ConfigurationError, Elector, type ElectorOptions, type Leadership, type WaitOptions } from "@leasehold/core";
import { BlobLeaseStore } from "./blob-lease-store.ts";
import { BLOB_STORE_OPTIONS, type BlobLeaseStoreOptions } from "./options.ts";

/** The place and name of the mutex's blob, and the options of an `Elector`. */
export interface BlobMutexSettings extends BlobLeaseStoreOptions, Omit<ElectorOptions, "store" | "election" | "clock"> {
  /** The blob's name, which is also the election's. It may be left out if `blob` is given. */
  readonly blobName?: string | undefined;
}

/**
 * Runs while this instance has the mutex. The signal aborts when the caller's signal aborts or the lease ends. The task must
 * settle soon after that.
 */
export type MutexTask = (signal: AbortSignal, leadership: Leadership) => Promise<void> | void;

/**
 * The leader election pattern of the Azure Architecture Center, with its names. The instance that has the lease of a blob runs
 * the task; the others wait for the lease.
 *
 * It is an {@link Elector} on a {@link BlobLeaseStore}, and has its guarantees. In particular, the task's signal aborts while the
 * lease still lasts, and the lease is not released before the task has settled.
 *
 * @example
 * ```ts
 * const mutex = new BlobDistributedMutex({ container, blobName: "nightly-billing" }, async (signal) => {
 *   while (!signal.aborted) await billNext(signal);
 * });
 * await mutex.runTaskWhenMutexAcquired(signal);
 * ```
 */
export class BlobDistributedMutex {
  /** The store. Use it for `seal` and `fencedUpload`, and to read or break the lease. */
  readonly store: BlobLeaseStore;
  /** The elector. Use it for events, `isLeader`, `resign` and its other functions. */
  readonly elector: Elector;
  readonly #task: MutexTask;

  /** Sends nothing. @throws {ConfigurationError} for settings that cannot work. */
  constructor(settings: BlobMutexSettings, taskToRunWhenLeaseAcquired: MutexTask) {
    const { blobName, ...options } = settings;
    const [place, electorOptions] = [true, false].map((ofStore) =>
      Object.fromEntries(Object.entries(options).filter(([name]) => Object.hasOwn(BLOB_STORE_OPTIONS, name) === ofStore)),
    );
    this.store = new BlobLeaseStore(place as BlobLeaseStoreOptions);
    const election = blobName ?? settings.blob?.name;
    if (election === undefined) throw new ConfigurationError("blobName is missing: name the blob whose lease is the mutex.");
    if (settings.blob && settings.blob.name !== election) {
      throw new ConfigurationError(
        `blobName is '${election}', but the blob that was passed is '${settings.blob.name}'; leave blobName out.`,
      );
    }
    this.elector = new Elector({ ...electorOptions, store: this.store, election });
    this.#task = taskToRunWhenLeaseAcquired;
  }

  /**
   * Waits for the mutex, and runs the task while it is held. Repeats this until `signal` aborts. Then it waits for the task,
   * releases the lease and resolves. Throws what {@link Elector.run} throws.
   */
  async runTaskWhenMutexAcquired(signal?: AbortSignal): Promise<void> {
    const options: WaitOptions = signal ? { signal } : {};
    await this.elector.run((leadership) => this.#task(leadership.signal, leadership), options);
  }
}

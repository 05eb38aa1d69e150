import type { Leadership } from "@leasehold/core";
import { StoreError } from "@leasehold/core";
import {
  type CheckOptions,
  type CheckReport,
  checkName,
  DEFAULT_REQUEST_TIMEOUT_MS,
  duration,
  RecordLeaseStore,
  RecordOccurrenceStore,
  sendRequest,
  systemClock,
  type OccurrenceOptions,
} from "@leasehold/core/provider";
import { Bucket } from "./bucket.ts";
import { FencedObject, type FencedPutOptions, type FenceOptions } from "./fence.ts";
import { ObjectRecordStore } from "./object-record-store.ts";
import type { BucketSettings, ObjectRequest } from "./object-service.ts";
import { checkedOptions, type ObjectStorageLeaseStoreOptions } from "./options.ts";

/**
 * With this lease the default renewals are 2 s apart. Google Cloud Storage accepts about one write a second for each object.
 * https://cloud.google.com/storage/quotas#objects
 */
const GCS_MIN_LEASE_MS = 6_000;

/**
 * Leases in objects of a bucket: one for each election, and one for each occurrence. It uses conditional writes of S3 or of Google
 * Cloud Storage.
 *
 * Guarantees: those of {@link RecordLeaseStore}, if the service keeps the conditions of writes, and if the bucket is not a replica.
 * Before its first write each store proves on an object of its own that the service keeps conditions.
 *
 * Electors judge expiry by what they observe. `tryRun`, and electors with `expiry: "store-clock"`, also use the service's dates
 * and the wall clocks of the processes. A lease counts as expired only if both kinds of clock show it. It is enough if the clocks
 * of the service's machines agree within a second, or if those of the processes agree. A proxy that writes its own `Date` cannot
 * shorten a lease alone. If no age can be read, an acquisition by the service's dates fails with `STORE_REJECTED`.
 *
 * Releases are not pushed: standbys poll.
 */
export class ObjectStorageLeaseStore extends RecordLeaseStore {
  readonly #bucket: Bucket;

  /** Sends nothing. @throws {ConfigurationError} unless a usable client and a bucket are given, or a URL. */
  constructor(options: ObjectStorageLeaseStoreOptions) {
    const { service, bucket: name, prefix } = checkedOptions(options);
    const { clock = systemClock } = options;
    const bucket = new Bucket(service, name, prefix, clock);
    super(new ObjectRecordStore(bucket, { keyOf: (election) => bucket.keys.lease(election), isLease: true }, clock), { clock });
    if (service.name === "gcs") Object.assign(this, { capabilities: { ...this.capabilities, minLeaseMs: GCS_MIN_LEASE_MS } });
    this.#bucket = bucket;
  }

  /**
   * Does what {@link LeaseStore.check} does. It also sends eight writes on one version at once, of which only one may succeed. It
   * reads the bucket's settings unless `settings` is false. The report's `warnings` are about these settings.
   * @throws {ConfigurationError} if the service does not keep the conditions of writes.
   * @throws {StoreError} `STORE_REJECTED` if a proxy writes its own `Date`, or if the bucket's settings delete or refuse leases,
   *   unless `settings` is false.
   */
  override async check(options: CheckOptions): Promise<CheckReport> {
    const report = await super.check(options);
    await this.#request(options, async ({ election, signal }) => await this.#bucket.proof.race(election, signal));
    if (options.settings === false) return report;
    const { refusals, warnings } = await this.#settings(options);
    if (refusals.length === 0) return { ...report, warnings };
    throw new StoreError("STORE_REJECTED", `${this.name}: the bucket cannot hold leases: ${refusals.join(" ")}`, {
      store: this.name,
      operation: "check",
      election: options.election,
      mayHaveBeenApplied: false,
    });
  }

  /** Implements {@link LeaseStore.inspect}: returns warnings about the bucket's settings, and reasons why it cannot hold leases. */
  async inspect(options: CheckOptions): Promise<readonly string[]> {
    const { refusals, warnings } = await this.#settings(options);
    return [...refusals.map((reason) => `The bucket cannot hold leases: ${reason}`), ...warnings];
  }

  /**
   * Returns the occurrences of an election's schedule. Each is an object of its own, below `ticks/` and the election's name. Your
   * lifecycle rule may delete them once the retention has passed. Without a rule, they are kept.
   *
   * @throws {ConfigurationError} for an invalid election or duration.
   */
  occurrences(election: string, { retentionMs }: OccurrenceOptions): RecordOccurrenceStore {
    checkName("election", election);
    duration("retentionMs", retentionMs);
    const keyOf = (occurrence: string): string => this.#bucket.keys.occurrence(election, occurrence);
    const records = new ObjectRecordStore(this.#bucket, { keyOf, isLease: false }, this.clock);
    return new RecordOccurrenceStore(records, { clock: this.clock });
  }

  /**
   * Marks an object of the same bucket as written in this term, without a change of its text. From then on the service refuses the
   * fenced writes of every older term. Call it before the work: until then a write of an older term still succeeds. If the object
   * does not exist, it is created empty, unless this leadership has seen it before. The seal reads and writes the whole object.
   *
   * Only fenced writes respect the fence. A plain write replaces the object and its fence, so let only leaders write.
   *
   * @param key the key of the object, outside of the store's prefix.
   * @throws {FencedError} if a newer term has sealed or written the object, or if it was deleted since this leadership saw it. A
   *   `ConfigurationError` if the object is not a text in UTF-8, or is compressed. A `StoreError` if the service fails.
   */
  async seal(leadership: Leadership, key: string, options: FenceOptions = {}): Promise<void> {
    await new FencedObject(this.#bucket, this.clock, leadership, key).seal(options);
  }

  /**
   * Writes a text as the leader of this term. The write is conditional on the object's version. The service refuses it once a newer
   * term has sealed or written the object. It does not check whether this process still believes that it leads.
   *
   * On S3 the text gets a line of 64 blanks at its end. S3 computes an object's version from its content alone, so equal contents
   * would let a stale write pass. On Google Cloud Storage the text is written as it is.
   *
   * A deleted object has no fence. A leadership that has seen the object does not create it again.
   *
   * @param key the key of the object, outside of the store's prefix.
   * @throws {FencedError} if the service refused it, or if the object was deleted since this leadership saw it. Nothing was written
   *   then. A `StoreError` if the service fails.
   */
  async fencedPut(leadership: Leadership, key: string, text: string, options: FencedPutOptions = {}): Promise<void> {
    await new FencedObject(this.#bucket, this.clock, leadership, key).put(text, options);
  }

  /** Closes the client that the store has opened for a `url`. Your client stays open. */
  close(): Promise<void> {
    this.#bucket.service.close();
    return Promise.resolve();
  }

  async #settings(options: CheckOptions): Promise<BucketSettings> {
    const { keys, service } = this.#bucket;
    return await this.#request(options, async (request) => await service.settings(keys.prefix, keys.ticks, request));
  }

  async #request<T>(options: CheckOptions, send: (request: ObjectRequest) => Promise<T>): Promise<T> {
    const { election, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
    const label = { operation: "check", election, writes: false };
    const request = { clock: this.clock, store: this.name, ...label, timeoutMs, signal };
    return await sendRequest(request, async (abandoned) => await send({ operation: "check", election, signal: abandoned }));
  }
}

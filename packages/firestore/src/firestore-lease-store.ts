import { Firestore, type Transaction } from "@google-cloud/firestore";
import {
  type Clock,
  type OccurrenceOptions,
  checkName,
  checkOptions,
  duration,
  RecordLeaseStore,
  type Fenced,
} from "@leasehold/core/provider";
import { dependOn } from "./fence.ts";
import { FirestoreOccurrenceStore } from "./firestore-occurrence-store.ts";
import { FirestoreRecordStore } from "./firestore-record-store.ts";
import { KEEPALIVE, OPTIONS, type FirestoreLeaseStoreOptions } from "./options.ts";
import { Paths } from "./paths.ts";

/**
 * Leases in Firestore documents. Each acquisition, renewal and release is one commit under a precondition, sent once. The store
 * never uses a transaction. Only Firestore's own times decide how old a lease is. They are exact, so a process that has just
 * started can replace a dead leader. Changes are pushed: a standby learns of a release in one round trip.
 *
 * Costs at the defaults: a leader sends 720 document writes an hour. A standby has one listener, and its polls read 720 documents
 * an hour.
 */
export class FirestoreLeaseStore extends RecordLeaseStore {
  readonly #firestore: Firestore;
  readonly #paths: Paths;
  readonly #clock: Clock | undefined;

  /** Sends nothing. @throws {ConfigurationError} for options that cannot work. */
  constructor(options: FirestoreLeaseStoreOptions = {}) {
    checkOptions("FirestoreLeaseStore", options, OPTIONS);
    // A destructuring default replaces only `undefined`. Null is a mistake, and is refused.
    const { collection = "leasehold", firestore = new Firestore(KEEPALIVE), clock } = options;
    const paths = new Paths(collection);
    super(new FirestoreRecordStore(firestore, paths, { clock }), { clock });
    this.#firestore = firestore;
    this.#paths = paths;
    this.#clock = clock;
  }

  /**
   * Returns the occurrences of a schedule. Each is a document in the collection `ticks` below the election's own document. Its
   * field `expiresAt` is for a TTL policy. The field's time is at least `retentionMs` and an hour after the last write.
   */
  occurrences(election: string, { retentionMs }: OccurrenceOptions): FirestoreOccurrenceStore {
    checkName("election", election);
    duration("retentionMs", retentionMs);
    const options = { retentionMs, clock: this.#clock };
    return new FirestoreOccurrenceStore(this.#firestore, this.#paths.occurrences(election), options);
  }

  /**
   * Makes a transaction depend on this leadership. Call it in the transaction before the first write. Firestore then commits the
   * transaction only if the lease was not acquired, released or broken meanwhile. This holds even if this process has not noticed
   * the loss. Renewals do not write the document that the transaction reads, so a long transaction does not cost the leader its
   * lease.
   *
   * While the transaction is open, the next acquisition may have to wait for it. Keep the transaction short, and set a low
   * `maxAttempts`: each retry makes the acquisition wait again.
   *
   * @throws {FencedError} if the leadership has ended; nothing is written.
   */
  async fence(leadership: Fenced, transaction: Transaction): Promise<void> {
    await dependOn(this.#firestore.doc(this.#paths.fence(leadership.election)), leadership, transaction);
  }
}

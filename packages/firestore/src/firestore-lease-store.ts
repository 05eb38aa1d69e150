import { Firestore, type Transaction } from "@google-cloud/firestore";
import type { Clock, OccurrenceOptions } from "@leasehold/core";
import { checkName, checkOptions, duration, RecordLeaseStore, type Fenced } from "@leasehold/core/provider";
import { dependOn } from "./fence.ts";
import { FirestoreOccurrenceStore } from "./firestore-occurrence-store.ts";
import { FirestoreRecordStore } from "./firestore-record-store.ts";
import { KEEPALIVE, OPTIONS, type FirestoreLeaseStoreOptions } from "./options.ts";
import { Paths } from "./paths.ts";

/**
 * Leases on Firestore documents: each acquisition, renewal and release is one commit under a precondition, sent once,
 * and never a transaction. How old a lease is, is judged by Firestore's own times alone, which are exact, so that a
 * process that has just started can replace a dead leader. Changes are pushed: a release is seen in one round trip.
 *
 * Costs at the defaults: a leader 720 document writes an hour; a standby one listener, and the 720 document reads an
 * hour of what is pushed to it.
 */
export class FirestoreLeaseStore extends RecordLeaseStore {
  readonly #firestore: Firestore;
  readonly #paths: Paths;
  readonly #clock: Clock | undefined;

  /** @throws {ConfigurationError} for options that cannot work, before any request. */
  constructor(options: FirestoreLeaseStoreOptions = {}) {
    checkOptions("FirestoreLeaseStore", options, OPTIONS);
    // Defaults of destructuring: only what was left out gets one, and null is a mistake.
    const { collection = "leasehold", firestore = new Firestore(KEEPALIVE), clock } = options;
    const paths = new Paths(collection);
    super(new FirestoreRecordStore(firestore, paths, { clock }), { clock });
    this.#firestore = firestore;
    this.#paths = paths;
    this.#clock = clock;
  }

  /**
   * Returns the occurrences of a schedule, each a document in the collection `ticks` below the election's own. Each carries
   * `expiresAt`, `retentionMs` and an hour or more after its last write, for a TTL policy to delete it by.
   */
  occurrences(election: string, { retentionMs }: OccurrenceOptions): FirestoreOccurrenceStore {
    checkName("election", election);
    duration("retentionMs", retentionMs);
    const options = { retentionMs, clock: this.#clock };
    return new FirestoreOccurrenceStore(this.#firestore, this.#paths.occurrences(election), options);
  }

  /**
   * Makes a transaction depend on this leadership: call it in the transaction before its first write. Firestore then
   * lets it commit only if nobody has acquired, released or broken the lease meanwhile, whatever this process believes.
   * Renewals do not touch what it reads, so a long transaction does not cost its leader the lease.
   *
   * While the transaction is open, the next acquisition may have to wait for it: keep it short, and give it `maxAttempts`.
   *
   * @throws {FencedError} if the leadership has ended; nothing is written.
   */
  async fence(leadership: Fenced, transaction: Transaction): Promise<void> {
    await dependOn(this.#firestore.doc(this.#paths.fence(leadership.election)), leadership, transaction);
  }
}

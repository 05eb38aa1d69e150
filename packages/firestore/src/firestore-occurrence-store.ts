import type { Firestore, Transaction } from "@google-cloud/firestore";
import { type Clock, type OccurrenceOptions, RecordOccurrenceStore, type Fenced } from "@leasehold/core/provider";
import { dependOn } from "./fence.ts";
import { FirestoreRecordStore } from "./firestore-record-store.ts";
import type { Paths } from "./paths.ts";

/** The occurrences of one schedule on Firestore, one document each. `FirestoreLeaseStore.occurrences` returns it. */
export class FirestoreOccurrenceStore extends RecordOccurrenceStore {
  readonly #firestore: Firestore;
  readonly #paths: Paths;

  constructor(firestore: Firestore, paths: Paths, options: OccurrenceOptions & { readonly clock: Clock | undefined }) {
    super(new FirestoreRecordStore(firestore, paths, options), { clock: options.clock });
    this.#firestore = firestore;
    this.#paths = paths;
  }

  /**
   * Makes a transaction depend on this attempt at an occurrence. Call it in the transaction before the first write. Firestore
   * then commits the transaction only if the attempt still has the occurrence: it was not released, completed, broken, deleted or
   * claimed again.
   *
   * The transaction reads the occurrence itself, which renewals write. A renewal waits for an open transaction, or makes that
   * transaction start again. Keep the transaction much shorter than the renew deadline.
   *
   * @throws {FencedError} if the attempt has ended; nothing is written.
   */
  async fence(leadership: Fenced, transaction: Transaction): Promise<void> {
    await dependOn(this.#firestore.doc(this.#paths.record(leadership.election)), leadership, transaction);
  }
}

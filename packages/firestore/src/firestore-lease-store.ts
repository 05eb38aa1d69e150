import { Firestore, type Transaction } from "@google-cloud/firestore";
import {
  FencedError,
  ForeignRecordError,
  RecordLeaseStore,
  type Leadership,
  type RecordLeaseStoreOptions,
} from "@leasehold/core";
import { FirestoreRecordStore } from "./firestore-record-store.ts";
import { Paths } from "./paths.ts";

/**
 * Notices a connection that a router has forgotten: without pings, calls on it time out for as long as the system keeps
 * the socket, which is a quarter of an hour on Linux. As often as Google's services put up with.
 */
const KEEPALIVE = { grpcOptions: { "grpc.keepalive_time_ms": 30_000, "grpc.keepalive_timeout_ms": 10_000 } };

export interface FirestoreLeaseStoreOptions extends RecordLeaseStoreOptions {
  /**
   * Yours, used as it is; give it the keepalive options of gRPC, as the README says.
   * @defaultValue a new one with them, with the project and the credentials that the SDK finds by itself
   */
  readonly firestore?: Firestore | undefined;
  /** The collection of the lease documents, one document per election. @defaultValue 'leasehold' */
  readonly collection?: string | undefined;
}

/**
 * Leases on Firestore documents: each acquisition, renewal and release is one commit under a precondition, sent once,
 * and never a transaction. How old a lease is, is judged by Firestore's own times alone, which are exact, so that a
 * process that has just started can replace a dead leader. Changes are pushed: a release is seen in one round trip.
 *
 * Costs at the defaults: a leader 720 document writes an hour; a standby one listener, and the 720 document reads an
 * hour of what it is told.
 */
export class FirestoreLeaseStore extends RecordLeaseStore {
  readonly #firestore: Firestore;
  readonly #paths: Paths;

  /** @throws {ConfigurationError} for options that cannot work, before any request. */
  constructor(options: FirestoreLeaseStoreOptions = {}) {
    // Defaults of destructuring: only what was left out gets one, and null is a mistake.
    const { collection = "leasehold", firestore = new Firestore(KEEPALIVE), clock } = options;
    const paths = new Paths(collection);
    super(new FirestoreRecordStore(firestore, paths), { clock });
    this.#firestore = firestore;
    this.#paths = paths;
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
  async fence(leadership: Pick<Leadership, "election" | "term" | "termId">, transaction: Transaction): Promise<void> {
    const { election, term, termId } = leadership;
    const path = this.#paths.fence(election);
    const snapshot = await transaction.get(this.#firestore.doc(path));
    const found = (snapshot.data() ?? {}) as { readonly term?: unknown; readonly termId?: unknown };
    // A user's settings may make integers bigints.
    const currentTerm = typeof found.term === "bigint" ? Number(found.term) : found.term;
    if (currentTerm === term && found.termId === termId) return;
    if (snapshot.exists && !Number.isSafeInteger(currentTerm)) {
      throw new ForeignRecordError(election, `The document '${path}'`, "it is not a fence of ours");
    }
    throw new FencedError(election, term, currentTerm as number | undefined, "the documents of this transaction");
  }
}

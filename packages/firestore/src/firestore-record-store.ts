import type { Firestore } from "@google-cloud/firestore";
import {
  onAbort,
  systemClock,
  type Clock,
  type Fence,
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
  type StoreWarnings,
  type WatchOptions,
  TermRegressedError,
} from "@leasehold/core/provider";
import { FirestoreClock, nanosIn } from "./clock.ts";
import { STORE_NAME, toStoreError } from "./firestore-errors.ts";
import { ListenerRenewal } from "./listener-renewal.ts";
import { FIELD_MASK, fieldsOf, stored, updateTimeOf, writtenVersion } from "./schema.ts";
import { ReconnectWarnings } from "./slow-reconnect.ts";
import { FirestoreRequests, type Write } from "./requests.ts";
import { idRanges, nameOf, type IdRange, type Paths } from "./paths.ts";
import { decodeFields, encodeFields, nanosOf, type WireTime } from "./wire.ts";

/** An occurrence is kept for this time beyond its retention. No commit takes that long. */
const GRACE_MS = 3_600_000;

export interface FirestoreRecordStoreOptions {
  /**
   * The least time for which a record is kept after its last write. `undefined`: the records are leases, and are kept for ever.
   */
  readonly retentionMs?: number | undefined;
  readonly clock: Clock | undefined;
}

/**
 * Stores each record in one document, and its fence in another. Writes are conditional on the document's update time. A write
 * that changes the fence commits both documents together. Transactions are not used: while a client pauses inside one, all other
 * writes wait.
 *
 * Records that expire are occurrences. The document of an occurrence is also its fence, so that one deletion removes both.
 * Occurrences cannot be watched, because serverless functions use no listeners.
 */
export class FirestoreRecordStore implements RecordStore {
  readonly name: string = STORE_NAME;
  readonly capabilities: RecordStoreCapabilities = {
    maxValueBytes: 65_536,
    fence: "atomic",
    storeClock: { toleranceMs: 0, exact: true },
    fleet: true,
  };
  readonly warnings: StoreWarnings;
  readonly #firestore: Firestore;
  readonly #paths: Paths;
  readonly #calls: FirestoreRequests;
  readonly #time: FirestoreClock;
  readonly #retentionMs: number | undefined;
  readonly #renewal: ListenerRenewal;
  readonly watch?: NonNullable<RecordStore["watch"]>;
  readonly list?: NonNullable<RecordStore["list"]>;

  constructor(firestore: Firestore, paths: Paths, { retentionMs, clock }: FirestoreRecordStoreOptions) {
    this.warnings = new ReconnectWarnings(firestore);
    this.#firestore = firestore;
    this.#paths = paths;
    this.#calls = new FirestoreRequests(firestore);
    this.#time = new FirestoreClock(clock);
    this.#retentionMs = retentionMs;
    this.#renewal = new ListenerRenewal(clock ?? systemClock);
    if (retentionMs !== undefined) return;
    this.watch = (election, options) => this.#watch(election, options);
    this.list = (prefix, options) => this.#list(prefix, options);
  }

  async get(election: string, { signal }: Pick<GetOptions, "signal">): Promise<StoredRecord | undefined> {
    const learnTime = this.#time.asking();
    const path = this.#paths.record(election);
    const { document, readTime } = await this.#renewal.during(election, () => this.#calls.read(election, path, signal));
    learnTime(nanosOf(readTime));
    if (!document) return undefined;
    return stored(decodeFields(document.fields), nanosOf(document.updateTime), nanosOf(readTime));
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const { ifVersion, keepsNonce, fence, signal } = options;
    const expiresAt = await this.#expiresAt(election, signal);
    const lease: Write = {
      path: this.#paths.record(election),
      fields: encodeFields(fieldsOf(record, ifVersion, keepsNonce, expiresAt)),
      updateMask: { fieldPaths: FIELD_MASK },
      currentDocument: ifVersion === undefined ? { exists: false } : { updateTime: updateTimeOf(ifVersion) },
    };
    const isFenced = fence && this.#retentionMs === undefined;
    // There should be no fence yet when a first record is written. If there is one, its lease was deleted.
    const isFirst = isFenced && ifVersion === undefined;
    const commit = async (fenceCondition: Partial<Write>): Promise<WireTime | undefined> => {
      const written = isFenced
        ? [lease, { path: this.#paths.fence(election), fields: encodeFields({ ...fence }), ...fenceCondition }]
        : [lease];
      return await this.#renewal.during(election, () => this.#calls.commit(election, written, signal));
    };
    let updateTime = await commit(isFirst ? { currentDocument: { exists: false } } : {});
    if (!updateTime && isFirst) {
      const before = await this.#fenceWithoutLease(election, fence, signal);
      if (before) updateTime = await commit({ currentDocument: { updateTime: before } });
    }
    return updateTime ? { stored: true, version: writtenVersion(updateTime, ifVersion, keepsNonce) } : { stored: false };
  }

  /** Returns the fence's term. Occurrences have no fence of their own. */
  async fenceTerm(election: string, { signal }: RecordRequestOptions): Promise<number | undefined> {
    if (this.#retentionMs !== undefined) return undefined;
    const { document } = await this.#calls.read(election, this.#paths.fence(election), signal);
    const term = Number(document && decodeFields(document.fields)["term"]);
    return term > 0 ? term : undefined;
  }

  async *#list(prefix: string, options: ListRecordsOptions): AsyncGenerator<ListedRecord> {
    for (const range of idRanges(prefix)) yield* this.#listRange(prefix, range, options);
  }

  /** Lists the documents of a range, one query a page. */
  async *#listRange(prefix: string, range: IdRange, { pageSize, request }: ListRecordsOptions): AsyncGenerator<ListedRecord> {
    const { collection } = this.#paths;
    for (let rest = range; ;) {
      const { documents, readTime } = await request(
        async ({ signal }) => await this.#calls.query(prefix, collection, rest, pageSize, signal),
      );
      let after = "";
      for (const { name, fields, updateTime } of documents) {
        after = name.slice(name.lastIndexOf("/") + 1);
        const election = nameOf(after);
        // Skips other programs' documents, and elections whose encoded names begin with the encoded prefix but whose names do
        // not.
        if (!election?.startsWith(prefix)) continue;
        yield { election, stored: stored(decodeFields(fields), nanosOf(updateTime), nanosOf(readTime)) };
      }
      if (documents.length < pageSize) return;
      rest = { after, end: range.end };
    }
  }

  /**
   * Returns the update time of the fence of a lease that was deleted; `undefined` if the lease exists, or if there is no fence.
   * @throws {TermRegressedError} unless the new fence has a later term, or closes the last term. Otherwise a term could have two
   *   leaders.
   */
  async #fenceWithoutLease(election: string, { term, termId }: Fence, signal: AbortSignal): Promise<WireTime | undefined> {
    if (await this.get(election, { signal })) return undefined;
    const { document } = await this.#calls.read(election, this.#paths.fence(election), signal);
    if (!document) return undefined;
    const fenceTerm = Number(decodeFields(document.fields)["term"]);
    if (fenceTerm < term || (fenceTerm === term && termId === null)) return document.updateTime;
    throw new TermRegressedError(election, term, fenceTerm, undefined, "the fence's document");
  }

  /**
   * Returns the time from which an occurrence that is written now may be deleted; `undefined` for a lease. A commit cannot refer
   * to its own commit time. So this adds the retention to the latest time that Firestore's clock may show. Firestore deletes
   * expired documents up to a day late anyway. Before the first reply this sends a read; in practice the engine has read already.
   */
  async #expiresAt(election: string, signal: AbortSignal): Promise<bigint | undefined> {
    if (this.#retentionMs === undefined) return undefined;
    if (this.#time.latest() === undefined) await this.get(election, { signal });
    const now = this.#time.latest();
    return now === undefined ? undefined : now + nanosIn(this.#retentionMs + GRACE_MS);
  }

  /**
   * Listens to the fence only, which changes at each acquisition, release and break. Firestore charges each document that a
   * listener receives like a read.
   */
  async *#watch(election: string, { signal }: WatchOptions): AsyncGenerator<void> {
    let failure: Error | undefined;
    let wake = Promise.withResolvers<void>();
    await this.#calls.ready(election, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    if (signal.aborted) return;
    const stopListening = onAbort(signal, () => wake.resolve());
    const listen = (): (() => void) =>
      this.#firestore.doc(this.#paths.fence(election)).onSnapshot(
        () => wake.resolve(),
        (error) => {
          failure = toStoreError(error, "watch", election, false);
          wake.resolve();
        },
      );
    let unsubscribe = listen();
    const stopRenewing = this.#renewal.add(election, () => {
      unsubscribe();
      unsubscribe = listen();
    });
    try {
      for (;;) {
        await wake.promise;
        wake = Promise.withResolvers();
        if (signal.aborted) return;
        if (failure) throw failure;
        yield;
      }
    } finally {
      stopListening();
      stopRenewing();
      unsubscribe();
    }
  }
}

import type {
  Clock,
  GetOptions,
  LeaseRecord,
  ListedRecord,
  ListRecordsOptions,
  PutOptions,
  PutOutcome,
  RecordStore,
  RecordStoreCapabilities,
  StoredRecord,
} from "@leasehold/core/provider";
import { STORE_NAME } from "./etcd-errors.ts";
import { decoded, lastPart, leaseNumber, randomLease, type OccurrenceKeys } from "./keys.ts";
import type { EtcdRequests } from "./requests.ts";
import type { Retention } from "./retention.ts";
import { decodeRecord, durationsOf } from "./schema.ts";
import type { Json } from "./transport.ts";
import { deleting, getting, keyAfter, putting, ranging, writtenAt, type KeyValue } from "./wire.ts";

/** A revision at which no key was ever written. */
const NEVER = "-1";

/**
 * Keeps each record in one key, which is compared and swapped on the revision of its last write.
 *
 * etcd reports no time, but its leases end. So each record has marks. A mark is a key on a lease whose duration a process may
 * have to wait after the record's nonce. Once a mark is gone, its duration has passed. The mark's lease is granted before the
 * nonce is written, and the holder counts from before the grant. If the members elect another leader, that lease begins anew, and
 * other processes wait longer.
 */
export class EtcdRecordStore implements RecordStore {
  readonly name: string = STORE_NAME;
  readonly capabilities: RecordStoreCapabilities = {
    maxValueBytes: 65_536,
    fence: "atomic",
    // A lease lasts whole seconds, by default at least two. etcd deletes its keys up to half a second after its end.
    storeClock: { toleranceMs: 2_500, exact: true },
    fleet: true,
  };
  readonly #requests: EtcdRequests;
  readonly #clock: Clock;
  readonly #keys: OccurrenceKeys;
  readonly #retention: Retention | undefined;

  /** @param retention absent for records that are never deleted, those of fleets. */
  constructor(requests: EtcdRequests, clock: Clock, keys: OccurrenceKeys, retention?: Retention) {
    this.#requests = requests;
    this.#clock = clock;
    this.#keys = keys;
    this.#retention = retention;
  }

  async get(election: string, { signal }: GetOptions): Promise<StoredRecord | undefined> {
    const operations = [getting(this.#keys.record(election)), ranging(this.#keys.marks(election))];
    const { ranges } = await this.#requests.transact("get", election, { success: operations }, { signal, writes: false });
    const [[found] = [], marks = []] = ranges;
    return found && this.#stored(election, found, new Set(marks.map(({ key }) => key)));
  }

  /** Reads the records of a page together with all marks, so that a record's marks are as old as the record. */
  async *list(prefix: string, { pageSize, request }: ListRecordsOptions): AsyncGenerator<ListedRecord> {
    const [records, marks] = this.#keys.recordsAndMarks(prefix);
    for (let from: string | undefined = records.key; from !== undefined;) {
      const page = ranging({ ...records, key: from }, { limit: String(pageSize) });
      const reading = { success: [page, ranging(marks, { keys_only: true })] };
      const { ranges } = await request(({ signal }) =>
        this.#requests.transact("list", prefix, reading, { signal, writes: false }),
      );
      const [found = [], present = []] = ranges;
      const keys = new Set(present.map(({ key }) => key));
      for (const record of found) {
        const election = decoded(lastPart(record.key));
        yield { election, stored: this.#stored(election, record, keys) };
      }
      const last = found.at(-1);
      from = last && found.length === pageSize ? keyAfter(last.rawKey) : undefined;
    }
  }

  #stored(election: string, { value, modRevision }: KeyValue, marks: ReadonlySet<string>): StoredRecord {
    const data = decodeRecord(value);
    const over = durationsOf(data).filter((ms) => !marks.has(this.#keys.mark(election, data?.nonce ?? "", ms)));
    return { data, version: String(modRevision), nonceAgeMs: [Math.max(0, ...over), Infinity] };
  }

  /** Sends one transaction. Before it, grants a lease for each mark that a new nonce needs. */
  async put(
    election: string,
    record: LeaseRecord,
    { ifVersion = "0", keepsNonce, fence, signal }: PutOptions,
  ): Promise<PutOutcome> {
    const version = /^\d+$/.test(ifVersion) ? ifVersion : NEVER;
    const isPossible = version !== NEVER;
    const marks = keepsNonce || !isPossible ? [] : await this.#marks(election, record, signal);
    const kept = (isPossible ? await this.#retention?.lease(election, signal) : undefined) ?? "0";
    const key = this.#keys.record(election);
    const success = [putting(key, JSON.stringify(record), kept), ...marks];
    const fenceKey = this.#keys.fence(election);
    if (fence?.termId) success.push(putting(fenceKey, this.#keys.fenceValue(fence.term, fence.termId), kept));
    else if (fence) success.push(deleting(fenceKey));
    const transaction = { compare: [writtenAt(key, version)], success };
    const { succeeded, header } = await this.#requests
      .transact("put", election, transaction, { signal, writes: true })
      .catch((error: unknown) => {
        // Makes the next write get another lease, because this one may be gone.
        this.#retention?.forget();
        throw error;
      });
    return succeeded ? { stored: true, version: String(header.revision) } : { stored: false };
  }

  async #marks(election: string, record: LeaseRecord, signal: AbortSignal): Promise<readonly Json[]> {
    const marks: Json[] = [];
    for (const durationMs of durationsOf(record)) {
      const lease = leaseNumber(randomLease(this.#clock.randomUuid()));
      await this.#requests.grantNow(election, lease, Math.ceil(durationMs / 1_000), signal);
      marks.push(putting(this.#keys.mark(election, record.nonce, durationMs), "", lease));
    }
    return marks;
  }
}

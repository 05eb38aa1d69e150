import { GetItemCommand, ScanCommand, UpdateItemCommand, type AttributeValue } from "@aws-sdk/client-dynamodb";
import {
  IMPOSSIBLE_VERSION,
  type StoreWarnings,
  type GetOptions,
  type Interval,
  type LeaseRecord,
  type ListedRecord,
  type ListRecordsOptions,
  type PutOptions,
  type PutOutcome,
  type RecordStore,
  type RecordStoreCapabilities,
  type StoredRecord,
} from "@leasehold/core/provider";
import { STORE_NAME } from "./dynamodb-errors.ts";
import { keyAttributes, leasesBeginning, PARTITION_KEY, stored, updateOf, type ItemKey, type Timestamps } from "./schema.ts";
import type { LeaseTable } from "./lease-table.ts";
import { isConditionFailed } from "./requests.ts";
import { TOLERANCE_MS } from "./clock.ts";

/**
 * The longest delay with which the service's clock shows an expiry. It assumes that renewals are at most 10 s apart, and that the
 * clocks of DynamoDB's machines agree. It is a sum: a second of rounding for each of two `Date` headers, the tolerance, and a
 * tenth of the time between renewals.
 */
const LATENESS_MS = 4_000;

/**
 * The number of writes whose replies show the item that they replace. A global table of version 2017.11.29 marks an item about a
 * second after its first write, and one of these replies shows the mark.
 */
const SHOWN_WRITES = 3;

/** The keys of records in a table, and the time for which they are kept. */
export interface RecordLocation {
  /** Returns the key of the record with this name in the engine. */
  readonly keyOf: (election: string) => ItemKey;
  /** The least time for which a record is kept after its last write. `undefined`: it is kept for ever. */
  readonly retentionMs?: number | undefined;
}

/** Stores each record in one item. Writes are conditional on its `version`. */
export class DynamoDBRecordStore implements RecordStore {
  readonly name: string = STORE_NAME;
  readonly capabilities: RecordStoreCapabilities = {
    maxValueBytes: 65_536,
    fence: "atomic",
    storeClock: { toleranceMs: LATENESS_MS, exact: false },
    fleet: true,
  };
  readonly warnings: StoreWarnings;
  readonly list?: NonNullable<RecordStore["list"]>;
  readonly #table: LeaseTable;
  readonly #place: RecordLocation;
  #shown = 0;

  constructor(table: LeaseTable, place: RecordLocation) {
    this.warnings = table.fitness.warnings;
    this.#table = table;
    this.#place = place;
    if (place.retentionMs === undefined) this.list = (prefix, options) => this.#list(prefix, options);
  }

  async get(election: string, { consistent, signal }: GetOptions): Promise<StoredRecord | undefined> {
    const { name, requests, time, fitness } = this.#table;
    fitness.ask(election);
    const command = new GetItemCommand({ TableName: name, Key: this.#keyOf(election), ConsistentRead: consistent });
    const { Item } = await requests.send(command, { operation: "get", election, writes: false }, signal);
    if (!Item) return undefined;
    fitness.sawItem(Item);
    return stored(Item, time.bounds());
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const { ifVersion, keepsNonce, signal } = options;
    const { name, clock, requests, time, fitness } = this.#table;
    // A probe does not wait for the control plane. The first real write does, so a probe must not use up that wait.
    if (ifVersion === IMPOSSIBLE_VERSION) fitness.assertUsable(election);
    else await fitness.waitUntilChecked(election, record.leaseDurationMs);
    const stamps = await this.#stamps(election, record, keepsNonce, signal);
    const version = clock.randomUuid();
    const update = updateOf(record, version, ifVersion, stamps);
    const command = new UpdateItemCommand({
      TableName: name,
      Key: this.#keyOf(election),
      ...update,
      ...(this.#isShown(ifVersion) ? { ReturnValues: "ALL_OLD" } : {}),
      // A refused write then shows the item that another candidate wrote. It shows nothing if there is no item, and on the
      // emulator dynalite.
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    });
    try {
      const { Attributes } = await requests.send(command, { operation: "put", election, writes: true }, signal);
      if (Attributes) fitness.sawItem(Attributes);
      return { stored: true, version };
    } catch (error) {
      if (!isConditionFailed(error)) throw error;
      if (error.Item) fitness.sawItem(error.Item);
      return { stored: false, ...(error.Item ? { current: stored(error.Item, time.bounds()) } : {}) };
    }
  }

  /**
   * Scans the whole table, because each election has a partition of its own. A request reads `pageSize` items, which include
   * occurrences, and returns the leases among them. Small pages keep a large table from using up its read capacity at once.
   */
  async *#list(prefix: string, { pageSize, request }: ListRecordsOptions): AsyncGenerator<ListedRecord> {
    const { name, requests, time, fitness } = this.#table;
    const label = { operation: "list", election: prefix, writes: false };
    let from: Record<string, AttributeValue> | undefined;
    do {
      const page = { TableName: name, Limit: pageSize, ExclusiveStartKey: from, ...leasesBeginning(prefix) };
      const { Items = [], LastEvaluatedKey } = await request(
        async ({ signal }) => await requests.send(new ScanCommand(page), label, signal),
      );
      const now = time.bounds();
      for (const item of Items) {
        fitness.sawItem(item);
        yield { election: item[PARTITION_KEY]?.S ?? "", stored: stored(item, now) };
      }
      from = LastEvaluatedKey;
    } while (from);
  }

  /**
   * Returns whether the reply has to show the item that the write replaces. The first few writes do so, because a leader
   * otherwise reads no item.
   */
  #isShown(ifVersion: string | undefined): boolean {
    if (ifVersion === undefined || ifVersion === IMPOSSIBLE_VERSION || this.#shown >= SHOWN_WRITES) return false;
    this.#shown += 1;
    return true;
  }

  #keyOf(election: string): Record<string, AttributeValue> {
    return keyAttributes(this.#place.keyOf(election));
  }

  async #stamps(election: string, record: LeaseRecord, keepsNonce: boolean, signal: AbortSignal): Promise<Timestamps> {
    const { retentionMs } = this.#place;
    if (keepsNonce && retentionMs === undefined) return {};
    const now = await this.#sendTime(election, record.leaseDurationMs, signal);
    const sent = { nonceNotBefore: now?.lo, nonceNotAfter: now?.hi, nonceWallMs: now && this.#table.clock.wallMs() };
    // Without bounds of the service's time, the item is kept for ever. Every item is kept at least as long as its lease lasts.
    const keptMs = Math.max(retentionMs ?? 0, record.leaseDurationMs);
    const kept = retentionMs === undefined ? {} : { expiresAt: now && Math.ceil((now.hi + keptMs) / 1_000) };
    return { ...(keepsNonce ? {} : sent), ...kept };
  }

  /**
   * Returns bounds of the service's present time that are narrow enough for a lease of that duration. Sends a read first if the
   * known bounds are too wide.
   */
  async #sendTime(election: string, leaseDurationMs: number, signal: AbortSignal): Promise<Interval | undefined> {
    const known = this.#table.time.bounds();
    if (known && known.hi - known.lo <= 2 * TOLERANCE_MS + leaseDurationMs / 5) return known;
    await this.get(election, { consistent: false, signal });
    return this.#table.time.bounds();
  }
}

import { GetItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import type {
  Clock,
  GetOptions,
  Interval,
  LeaseRecord,
  PutOptions,
  PutOutcome,
  RecordStore,
  RecordStoreCapabilities,
  StoredRecord,
} from "@leasehold/core";
import { STORE_NAME } from "./dynamodb-errors.ts";
import { keyOf, stored, updateOf } from "./item.ts";
import { isConditionFailed, OneRequest, type AnyDynamoDBClient } from "./one-request.ts";
import { StoreTime, TOLERANCE_MS } from "./store-time.ts";
import { TableCheck } from "./table-check.ts";

/**
 * How late an expiry may be found by the service's clock, where renewals are at most 10 s apart and its machines agree:
 * the grain of a `Date` header on both sides, the tolerance, and a tenth of the time between renewals.
 */
const LATENESS_MS = 4_000;

/** One item per election, compared and swapped on its `version`. */
export class DynamoDBRecordStore implements RecordStore {
  readonly name: string = STORE_NAME;
  readonly capabilities: RecordStoreCapabilities = {
    maxValueBytes: 65_536,
    fence: "atomic",
    storeClock: { toleranceMs: LATENESS_MS, exact: false },
  };
  readonly table: TableCheck;
  readonly #tableName: string;
  readonly #clock: Clock;
  readonly #time: StoreTime;
  readonly #requests: OneRequest;

  constructor(client: AnyDynamoDBClient, tableName: string, clock: Clock) {
    this.#tableName = tableName;
    this.#clock = clock;
    this.#time = new StoreTime(clock);
    this.#requests = new OneRequest(client, clock, this.#time);
    this.table = new TableCheck(this.#requests, tableName);
  }

  async get(election: string, { consistent, signal }: GetOptions): Promise<StoredRecord | undefined> {
    const command = new GetItemCommand({ TableName: this.#tableName, Key: keyOf(election), ConsistentRead: consistent });
    const { Item } = await this.#requests.send(command, { operation: "get", election, writes: false }, signal);
    return Item && stored(Item, this.#time.bounds());
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const { ifVersion, keepsNonce, signal } = options;
    await this.table.check(election, signal);
    const sent = keepsNonce ? "keep" : await this.#sendTime(election, record.leaseDurationMs, signal);
    const version = this.#clock.randomUuid();
    const command = new UpdateItemCommand({
      TableName: this.#tableName,
      Key: keyOf(election),
      ...updateOf(record, version, ifVersion, sent),
      // Tells who won instead; the emulator dynalite does not, and neither does the service where there is no item.
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    });
    try {
      await this.#requests.send(command, { operation: "put", election, writes: true }, signal);
      return { stored: true, version };
    } catch (error) {
      if (!isConditionFailed(error)) throw error;
      return { stored: false, ...(error.Item ? { current: stored(error.Item, this.#time.bounds()) } : {}) };
    }
  }

  /** Bounds of the service's time at present, good enough for a lease of that duration: read first, where they are too old. */
  async #sendTime(election: string, leaseDurationMs: number, signal: AbortSignal): Promise<Interval | undefined> {
    const known = this.#time.bounds();
    if (known && known.hi - known.lo <= 2 * TOLERANCE_MS + leaseDurationMs / 5) return known;
    await this.get(election, { consistent: false, signal });
    return this.#time.bounds();
  }
}

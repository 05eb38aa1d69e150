import { GetItemCommand, UpdateItemCommand, type AttributeValue } from "@aws-sdk/client-dynamodb";
import {
  IMPOSSIBLE_VERSION,
  type StoreWarnings,
  type GetOptions,
  type Interval,
  type LeaseRecord,
  type PutOptions,
  type PutOutcome,
  type RecordStore,
  type RecordStoreCapabilities,
  type StoredRecord,
} from "@leasehold/core/provider";
import { STORE_NAME } from "./dynamodb-errors.ts";
import { keyAttributes, stored, updateOf, type ItemKey, type Stamps } from "./schema.ts";
import type { LeaseTable } from "./lease-table.ts";
import { isConditionFailed } from "./requests.ts";
import { TOLERANCE_MS } from "./clock.ts";

/**
 * The longest delay with which an expiry is found by the service's clock, where renewals are at most 10 s apart and its
 * machines agree: the grain of a `Date` header on both sides, the tolerance, and a tenth of the time between renewals.
 */
const LATENESS_MS = 4_000;

/** The number of writes whose replies show the items that they replace. An item is marked about a second after its first write. */
const SHOWN_WRITES = 3;

/** The place of records in a table, and the time for which they are kept. */
export interface Place {
  /** Returns the key of the record that the engine knows by this name. */
  readonly keyOf: (election: string) => ItemKey;
  /** The least time for which a record is kept after its last write; without it, for ever. */
  readonly retentionMs?: number | undefined;
}

/** One item per record, compared and swapped on its `version`. */
export class DynamoDBRecordStore implements RecordStore {
  readonly name: string = STORE_NAME;
  readonly capabilities: RecordStoreCapabilities = {
    maxValueBytes: 65_536,
    fence: "atomic",
    storeClock: { toleranceMs: LATENESS_MS, exact: false },
  };
  readonly warnings: StoreWarnings;
  readonly #table: LeaseTable;
  readonly #place: Place;
  #shown = 0;

  constructor(table: LeaseTable, place: Place) {
    this.warnings = table.fitness.warnings;
    this.#table = table;
    this.#place = place;
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
    // Of a probe's time nothing goes to the control plane, and nothing of the first write's wait to a probe.
    if (ifVersion === IMPOSSIBLE_VERSION) fitness.demand(election);
    else await fitness.admit(election, record.leaseDurationMs);
    const stamps = await this.#stamps(election, record, keepsNonce, signal);
    const version = clock.randomUuid();
    const update = updateOf(record, version, ifVersion, stamps);
    const command = new UpdateItemCommand({
      TableName: name,
      Key: this.#keyOf(election),
      ...update,
      ...(this.#isShown(ifVersion) ? { ReturnValues: "ALL_OLD" } : {}),
      // The answer then shows who won instead; not by the emulator dynalite, and not by the service where there is no item.
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

  /** Reports whether the reply is to show the item that a write replaces: to a few writes of a leader, which else reads none. */
  #isShown(ifVersion: string | undefined): boolean {
    if (ifVersion === undefined || ifVersion === IMPOSSIBLE_VERSION || this.#shown >= SHOWN_WRITES) return false;
    this.#shown += 1;
    return true;
  }

  #keyOf(election: string): Record<string, AttributeValue> {
    return keyAttributes(this.#place.keyOf(election));
  }

  async #stamps(election: string, record: LeaseRecord, keepsNonce: boolean, signal: AbortSignal): Promise<Stamps> {
    const { retentionMs } = this.#place;
    if (keepsNonce && retentionMs === undefined) return {};
    const now = await this.#sendTime(election, record.leaseDurationMs, signal);
    const sent = { nonceNotBefore: now?.lo, nonceNotAfter: now?.hi, nonceWallMs: now && this.#table.clock.wallMs() };
    // Without any bounds the item is kept for ever. A lease that somebody still holds is never deleted.
    const keptMs = Math.max(retentionMs ?? 0, record.leaseDurationMs);
    const kept = retentionMs === undefined ? {} : { expiresAt: now && Math.ceil((now.hi + keptMs) / 1_000) };
    return { ...(keepsNonce ? {} : sent), ...kept };
  }

  /** Returns bounds of the service's time at present, narrow enough for a lease of that duration: it reads first if they are not. */
  async #sendTime(election: string, leaseDurationMs: number, signal: AbortSignal): Promise<Interval | undefined> {
    const known = this.#table.time.bounds();
    if (known && known.hi - known.lo <= 2 * TOLERANCE_MS + leaseDurationMs / 5) return known;
    await this.get(election, { consistent: false, signal });
    return this.#table.time.bounds();
  }
}

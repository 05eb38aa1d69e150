import { GetItemCommand, UpdateItemCommand, type AttributeValue } from "@aws-sdk/client-dynamodb";
import {
  IMPOSSIBLE_VERSION,
  type StoreWarnings,
  type GetOptions,
  type Interval,
  type LeaseRecord,
  type PutIfOpenOptions,
  type PutIfOpenOutcome,
  type PutOptions,
  type PutOutcome,
  type RecordStore,
  type RecordStoreCapabilities,
  type StoredRecord,
} from "@leasehold/core/provider";
import { STORE_NAME } from "./dynamodb-errors.ts";
import {
  keyAttributes,
  openUpdateOf,
  stored,
  updateOf,
  writtenOver,
  type ItemKey,
  type ItemUpdate,
  type Stamps,
} from "./schema.ts";
import type { LeaseTable } from "./lease-table.ts";
import { isConditionFailed } from "./requests.ts";
import { TOLERANCE_MS } from "./clock.ts";

/**
 * The longest delay with which an expiry is found by the service's clock, where renewals are at most 10 s apart and its
 * machines agree: the grain of a `Date` header on both sides, the tolerance, and a tenth of the time between renewals.
 */
const LATENESS_MS = 4_000;

/** The outcome of an update, with the item that it replaced, if there was one. */
type Update =
  | { readonly stored: true; readonly before: Record<string, AttributeValue> | undefined }
  | Extract<PutOutcome, { stored: false }>;

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
    return Item && stored(Item, time.bounds());
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const { ifVersion, keepsNonce, signal } = options;
    const { clock, fitness } = this.#table;
    // Of a probe's time nothing goes to the control plane, and nothing of the first write's wait to a probe.
    if (ifVersion === IMPOSSIBLE_VERSION) fitness.demand(election);
    else await fitness.admit(election, record.leaseDurationMs);
    const stamps = await this.#stamps(election, record, keepsNonce, signal);
    const version = clock.randomUuid();
    const outcome = await this.#update(election, updateOf(record, version, ifVersion, stamps), signal);
    return outcome.stored ? { stored: true, version } : outcome;
  }

  async putIfOpen(election: string, record: LeaseRecord, { mayCreate, signal }: PutIfOpenOptions): Promise<PutIfOpenOutcome> {
    const { clock, fitness } = this.#table;
    fitness.demand(election);
    // What the table is, is asked meanwhile: on one that is unfit nobody leads, whatever was written.
    const admission = fitness.admit(election, record.leaseDurationMs);
    admission.catch(() => undefined);
    const now = this.#narrowTime(record.leaseDurationMs);
    const version = clock.randomUuid();
    const update = openUpdateOf(record, version, mayCreate, this.#stampsAt(now, record));
    const outcome = await this.#update(election, { ...update, ReturnValues: "ALL_OLD" }, signal);
    await admission;
    if (!outcome.stored) return outcome;
    const undated = now ? {} : { undated: true as const };
    return { stored: true, ...writtenOver(outcome.before, { version, term: record.term }), ...undated };
  }

  async #update(
    election: string,
    update: ItemUpdate & { readonly ReturnValues?: "ALL_OLD" },
    signal: AbortSignal,
  ): Promise<Update> {
    const { name, requests, time } = this.#table;
    const command = new UpdateItemCommand({
      TableName: name,
      Key: this.#keyOf(election),
      ...update,
      // The answer then shows who won instead; not by the emulator dynalite, and not by the service where there is no item.
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    });
    try {
      const { Attributes } = await requests.send(command, { operation: "put", election, writes: true }, signal);
      return { stored: true, before: Attributes };
    } catch (error) {
      if (!isConditionFailed(error)) throw error;
      return { stored: false, ...(error.Item ? { current: stored(error.Item, time.bounds()) } : {}) };
    }
  }

  #keyOf(election: string): Record<string, AttributeValue> {
    return keyAttributes(this.#place.keyOf(election));
  }

  async #stamps(election: string, record: LeaseRecord, keepsNonce: boolean, signal: AbortSignal): Promise<Stamps> {
    if (keepsNonce && this.#place.retentionMs === undefined) return {};
    const now = await this.#sendTime(election, record.leaseDurationMs, signal);
    const { expiresAt, ...sent } = this.#stampsAt(now, record);
    return { ...(keepsNonce ? {} : sent), ...(this.#place.retentionMs === undefined ? {} : { expiresAt }) };
  }

  #stampsAt(now: Interval | undefined, record: LeaseRecord): Stamps {
    const { retentionMs } = this.#place;
    const sent = { nonceNotBefore: now?.lo, nonceNotAfter: now?.hi, nonceWallMs: now && this.#table.clock.wallMs() };
    if (retentionMs === undefined) return sent;
    // Without any bounds the item is kept for ever. A lease that somebody still holds is never deleted.
    const keptMs = Math.max(retentionMs, record.leaseDurationMs);
    return { ...sent, expiresAt: now && Math.ceil((now.hi + keptMs) / 1_000) };
  }

  /** Returns bounds of the service's time at present, narrow enough for a lease of that duration: it reads first if they are not. */
  async #sendTime(election: string, leaseDurationMs: number, signal: AbortSignal): Promise<Interval | undefined> {
    const known = this.#narrowTime(leaseDurationMs);
    if (known) return known;
    await this.get(election, { consistent: false, signal });
    return this.#table.time.bounds();
  }

  #narrowTime(leaseDurationMs: number): Interval | undefined {
    const known = this.#table.time.bounds();
    return known && known.hi - known.lo <= 2 * TOLERANCE_MS + leaseDurationMs / 5 ? known : undefined;
  }
}

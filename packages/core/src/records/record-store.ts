import type { LeaseStoreCapabilities, StoreClock } from "../store/capabilities.ts";
import type { StoreWarnings } from "../reporting/store-warnings.ts";
import type { WatchOptions } from "../store/lease-store.ts";
import { areBars, type Bar } from "./bars.ts";

/**
 * A service that offers compare-and-swap on one record. A provider has to write only this, if the service does not enforce leases
 * itself. `RecordLeaseStore` decides expiry, terms and nonces on top of it.
 *
 * The service must guarantee that compare-and-swap on one record is linearizable, and that acknowledged writes are not lost. A
 * service that may show a write before it is durable declares that, by `showsUndurable`.
 */
export interface RecordStore {
  /** For messages and telemetry, for instance `dynamodb`. */
  readonly name: string;
  readonly capabilities: RecordStoreCapabilities;
  /** See {@link StoreWarnings}. */
  readonly warnings?: StoreWarnings | undefined;

  /** Returns the election's record, or `undefined`. The `data` is returned unchecked, because the engine parses it. */
  get(election: string, options: GetOptions): Promise<StoredRecord | undefined>;

  /** Writes the record if its version is still `ifVersion` (`undefined`: if there is no record). Sends one request. */
  put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome>;

  /**
   * Lists the records whose names begin with `prefix`, by code point: none twice, in any order, page by page. An entry need not be
   * of the last write. Absent where the service cannot list. The `data` of each is returned unchecked.
   */
  list?(prefix: string, options: ListRecordsOptions): AsyncIterable<ListedRecord>;

  /** Yields a wake-up at each change of the record's fence, where the service can push; see `watch` of `LeaseStore`. */
  watch?(election: string, options: WatchOptions): AsyncIterable<void>;
}

export interface RecordStoreCapabilities {
  readonly maxValueBytes: number;
  readonly fence: LeaseStoreCapabilities["fence"];
  /** A store whose clock may step returns {@link StoredRecord.nonceWallMs} with each age. */
  readonly storeClock: StoreClock | undefined;
  /** See {@link LeaseStoreCapabilities}. */
  readonly roundTrips?: LeaseStoreCapabilities["roundTrips"];
  /** See {@link LeaseStoreCapabilities}. */
  readonly showsUndurable?: LeaseStoreCapabilities["showsUndurable"];
}

export interface RecordRequestOptions {
  /** Aborts when the engine no longer waits for the reply. */
  readonly signal: AbortSignal;
  /** The time after which `signal` aborts, in milliseconds. For a store that has to fit several requests into it. */
  readonly timeoutMs?: number | undefined;
}

export interface ListRecordsOptions {
  /** The most records that one request should ask for. */
  readonly pageSize: number;
  /**
   * Sends one request of the list, within its time. The records that the list yields next are of this request. Only one request
   * may be under way.
   */
  readonly request: <T>(send: (options: RecordRequestOptions) => Promise<T>) => Promise<T>;
}

/** One record of a list. */
export interface ListedRecord {
  readonly election: string;
  readonly stored: StoredRecord;
  /** Set where the store has found by itself that the record is not a lease. `stored` is ignored then. */
  readonly problem?: string | undefined;
}

export interface GetOptions extends RecordRequestOptions {
  /** False where the reply may lag behind the last write. Some services offer such reads at half the price. */
  readonly consistent: boolean;
}

export interface PutOptions extends RecordRequestOptions {
  readonly ifVersion: string | undefined;
  /**
   * True where the age of the nonce must stay as it is. Otherwise the store counts the age from now, because the nonce is new, or
   * because its age was unknown.
   */
  readonly keepsNonce: boolean;
  /**
   * Set where the write changes which guarded writes may pass. A store whose fence is a record of its own changes it together
   * with the lease record, or neither. Beside a record of a quorum ({@link QUORUM_SCHEMA}) it replaces any fence, even one of a
   * later term. There the record says which term is the later one.
   */
  readonly fence?: Fence | undefined;
}

/**
 * A version that no store gives a record, so that a write on the condition of it must fail. A service whose versions are not text
 * needs an impossible version of its own, and not one that means "no record".
 */
export const IMPOSSIBLE_VERSION = "never";

/** The holder whose guarded writes pass: the one with this term and `termId`. While `termId` is null, no guarded write passes. */
export interface Fence {
  readonly term: number;
  readonly termId: string | null;
}

export type PutOutcome =
  | { readonly stored: true; readonly version: string }
  /** The condition failed. `current` is the present record, where the service's answer shows it. */
  | { readonly stored: false; readonly current?: StoredRecord | undefined };

export interface StoredRecord {
  readonly data: unknown;
  /** Changes at every write of any kind. */
  readonly version: string;
  /**
   * Bounds of the time since the present nonce was written, in milliseconds. One and the same clock of the store measures both
   * ends of that time. Absent where the age is unknown, for instance because another server wrote the nonce.
   */
  readonly nonceAgeMs?: readonly [min: number, max: number] | undefined;
  /**
   * The writer's wall clock when it sent the present nonce, in milliseconds since the Unix epoch. The age is never believed to be
   * more than the wall clocks say; see {@link StoreClock.mayStep}.
   */
  readonly nonceWallMs?: number | undefined;
  /**
   * The time since this process first knew that the present nonce had been written, by its monotonic clock. Set where an earlier
   * answer of the service could not show the nonce yet. Observed expiry counts from then.
   */
  readonly nonceKnownForMs?: number | undefined;
  /**
   * The service tells the time, but the writer of the nonce did not know it. A candidate that needs the age has to restart it.
   */
  readonly ageUnknown?: true | undefined;
  /**
   * Set where the record is gone, but the fence, which is a record of its own, remembers this term. `data` is ignored. A write on
   * the condition of `version` makes a new record. No candidate acquires it before the former lease must have run out.
   */
  readonly lostTerm?: number | undefined;
}

/**
 * The record of one election. It is never deleted, so that terms survive release, expiry and break. An administrator writes
 * `broken`, or a transfer or a pause among the `bars`; none of these changes the nonce that standbys time. Each has the `id` of
 * its order, by which an administrator whose reply was lost recognises it.
 */
export interface LeaseRecord {
  /**
   * {@link QUORUM_SCHEMA} where a quorum of stores keeps the record, and this store is one of its members. Then only the quorum
   * may read or write it.
   */
  readonly schema: typeof RECORD_SCHEMA | typeof QUORUM_SCHEMA;
  /** The fencing token of the present or last leadership; 0 before the first. */
  readonly term: number;
  /** Random, one per acquisition; null once the lease is vacated. */
  readonly termId: string | null;
  /** The present or last holder. */
  readonly candidateId: string | null;
  readonly value?: string | undefined;
  /** Random, new at each acquisition, renewal and release. */
  readonly nonce: string;
  /** The time that standbys wait after they have observed this nonce, in milliseconds. */
  readonly leaseDurationMs: number;
  /** The interval at which the holder renews, in milliseconds. Standbys aim their polls by it. */
  readonly renewIntervalMs: number;
  /** Set where an administrator has broken this term: renewal is closed. */
  readonly broken?: { readonly reason: string; readonly id: string } | undefined;
  /** The blocks beside the lease; absent where there are none. While the lease is held, a transfer asks its holder to drain. */
  readonly bars?: readonly Bar[] | undefined;
  /** Set where the occurrence is done: no candidate may acquire it any more. An election's record never has this field. */
  readonly done?: true | undefined;
  /** The note of a quorum in its member's record, as JSON text; only with {@link QUORUM_SCHEMA}. */
  readonly quorum?: string | undefined;
}

/**
 * The schema of a record that one store keeps. It rises with each addition that an older version must not overlook, such as
 * `bars`.
 */
export const RECORD_SCHEMA = 3;

/** The schema of a record that a quorum keeps in each of its members. It rises like {@link RECORD_SCHEMA}, by its own numbers. */
export const QUORUM_SCHEMA = 4;

/** Every field that a lease record may have. A store that writes field by field removes each field that a record leaves out. */
export const LEASE_RECORD_FIELDS: readonly (keyof LeaseRecord)[] = [
  "schema",
  "term",
  "termId",
  "candidateId",
  "value",
  "nonce",
  "leaseDurationMs",
  "renewIntervalMs",
  "broken",
  "bars",
  "done",
  "quorum",
];

/** Returns the fence that belongs to a record. It is closed once the term is vacated or broken. */
export function fenceOfRecord({ term, termId, broken }: LeaseRecord): Fence {
  return { term, termId: broken ? null : termId };
}

/** Returns `data` as a lease record, or the problem with it. */
export function parseLeaseRecord(data: unknown): LeaseRecord | { readonly problem: string } {
  if (typeof data !== "object" || data === null) return { problem: "it is not an object" };
  const record = data as Partial<Record<keyof LeaseRecord, unknown>>;
  if (record.schema === QUORUM_SCHEMA && isText(record.quorum)) {
    return { problem: "a quorum of stores keeps it, of which this is one: open it as a QuorumLeaseStore" };
  }
  if (record.schema !== RECORD_SCHEMA) {
    return { problem: `its schema is ${describeSchema(record.schema)}, and this version reads schema ${RECORD_SCHEMA}` };
  }
  const bad = LEASE_RECORD_FIELDS.find((name) => !MAY_BE[name](record[name]));
  return bad ? { problem: `its ${bad} is not valid` } : (data as LeaseRecord);
}

type Check = (field: unknown) => boolean;

/** The check of each field of a lease record. */
const MAY_BE: Readonly<Record<keyof LeaseRecord, Check>> = {
  schema: (field) => field === RECORD_SCHEMA,
  term: (field) => Number.isSafeInteger(field) && (field as number) >= 0,
  termId: (field) => field === null || isText(field),
  candidateId: (field) => field === null || isText(field),
  value: (field) => field === undefined || isString(field),
  nonce: isText,
  leaseDurationMs: isDuration,
  renewIntervalMs: isDuration,
  broken: isNote({ reason: isString, id: isText }),
  bars: areBars,
  done: (field) => field === undefined || field === true,
  quorum: (field) => field === undefined,
};

/** Describes any schema, because a foreign record may hold anything. */
function describeSchema(schema: unknown): string {
  if (schema === undefined) return "missing";
  return typeof schema === "object" ? "an object" : String(schema as string | number | bigint | boolean);
}

function isString(field: unknown): boolean {
  return typeof field === "string";
}

function isText(field: unknown): boolean {
  return isString(field) && field !== "";
}

function isDuration(field: unknown): boolean {
  return typeof field === "number" && Number.isFinite(field) && field > 0;
}

/** Returns the check of a field that is absent, or an object with these fields. */
function isNote(fields: Readonly<Record<string, Check>>): Check {
  const checks = Object.entries(fields);
  return (field) => {
    if (typeof field !== "object") return field === undefined;
    return field !== null && checks.every(([name, mayBe]) => mayBe((field as Record<string, unknown>)[name]));
  };
}

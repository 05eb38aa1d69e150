import type { LeaseStoreCapabilities } from "../store/capabilities.ts";
import { DEFAULT_LEASE_MS } from "../store/lease-limits.ts";
import type { StoreWarnings } from "../reporting/journal.ts";
import type { WatchOptions } from "../store/lease-store.ts";
import { areBars, fieldOf, isText, type Bar } from "./bars.ts";

/**
 * A service that offers compare-and-swap on one record: all that a provider has to write if the service does not enforce leases.
 * Compare-and-swap must be linearizable, and acknowledged writes must not be lost. A service that may show a write before it is
 * durable declares `showsUndurable`.
 */
export interface RecordStore {
  readonly name: string;
  readonly capabilities: RecordStoreCapabilities;
  readonly warnings?: StoreWarnings | undefined;

  /** Returns the election's record, or `undefined`. The `data` is returned unchecked, because the engine parses it. */
  get(election: string, options: GetOptions): Promise<StoredRecord | undefined>;

  /** Writes the record if its version is still `ifVersion` (`undefined`: if there is no record). Sends one request. */
  put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome>;

  /** Lists the records whose names begin with `prefix`, by code point: unordered, none twice, perhaps without the last write. */
  list?(prefix: string, options: ListRecordsOptions): AsyncIterable<ListedRecord>;

  /** Returns the term that a separate fence remembers, if any, in one request. Only `check` calls it. */
  fenceTerm?(election: string, options: RecordRequestOptions): Promise<number | undefined>;

  /** Yields a wake-up at each change of the record's fence, where the service can push; see `watch` of `LeaseStore`. */
  watch?(election: string, options: WatchOptions): AsyncIterable<void>;
}

/** A clock that may step needs {@link StoredRecord.nonceWallMs}. A fleet needs `list`, and compare-and-swap on one record. */
export type RecordStoreCapabilities = Pick<
  LeaseStoreCapabilities,
  "maxValueBytes" | "fence" | "storeClock" | "roundTrips" | "showsUndurable" | "losesAcknowledged" | "fleet"
>;

export interface RecordRequestOptions {
  /** Aborts when the engine no longer waits for the reply. */
  readonly signal: AbortSignal;
  /** The time after which `signal` aborts, in milliseconds. For a store that has to fit several requests into that time. */
  readonly timeoutMs?: number | undefined;
}

export interface ListRecordsOptions {
  readonly pageSize: number;
  /** Sends one request of the list within its time limit, never two at once. The records yielded next are of this request. */
  readonly request: <T>(send: (options: RecordRequestOptions) => Promise<T>) => Promise<T>;
}

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
  /** True where the age of the nonce must stay. Otherwise the store counts it from now. */
  readonly keepsNonce: boolean;
  /**
   * Set where the write changes which guarded writes may pass: a store with a separate fence changes both or neither. Beside a
   * record of a quorum ({@link QUORUM_SCHEMA}) it replaces any fence.
   */
  readonly fence?: Fence | undefined;
}

/** A version that no record has, so that a write on it must fail. A service whose versions are not text needs its own. */
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
  /** Bounds of the time since the present nonce was written, by one clock of the store. Absent where that is unknown. */
  readonly nonceAgeMs?: readonly [min: number, max: number] | undefined;
  /** The writer's wall clock when it sent the nonce. No greater age is believed; see {@link StoreClock.mayStep}. */
  readonly nonceWallMs?: number | undefined;
  /** The time for which this process has known the nonce, if an earlier answer could not show it. Observed expiry counts it. */
  readonly nonceKnownForMs?: number | undefined;
  /** The service has a clock, but the writer of the nonce did not know the service's time. A candidate has to restart the age. */
  readonly ageUnknown?: true | undefined;
  /** The term that the fence remembers of a record that is gone. `data` is ignored. A write on `version` creates a record. */
  readonly lostTerm?: number | undefined;
}

/** The record of one election. It is never deleted, so that terms survive. Administrators never change its nonce. */
export interface LeaseRecord {
  /** {@link QUORUM_SCHEMA} where this store is a member of a quorum. Then only the quorum may read or write the record. */
  readonly schema: typeof RECORD_SCHEMA | typeof QUORUM_SCHEMA;
  /** The fencing token of the present or last leadership; 0 before the first. */
  readonly term: number;
  /** Random, one per acquisition; null once the lease is vacated. */
  readonly termId: string | null;
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
  /** The occurrence is done, and no candidate may acquire it. `value` is then absent, or a `Completion` as JSON. */
  readonly done?: true | undefined;
  /** The last terms, as JSON text; see `term-history.ts`. For people: no decision depends on it. */
  readonly history?: string | undefined;
  /** The note of a quorum in its member's record, as JSON text; only with {@link QUORUM_SCHEMA}. */
  readonly quorum?: string | undefined;
}

/** It rises with each addition that an older version must not overlook, such as `bars`. */
export const RECORD_SCHEMA = 3;

/** The schema of a record in a member of a quorum. It is counted apart from {@link RECORD_SCHEMA}. */
export const QUORUM_SCHEMA = 4;

type Check = (field: unknown) => boolean;

const MAY_BE: Readonly<Record<keyof LeaseRecord, Check>> = {
  schema: (field) => field === RECORD_SCHEMA,
  term: (field) => Number.isSafeInteger(field) && (field as number) >= 0,
  termId: (field) => field === null || isText(field),
  candidateId: (field) => field === null || isText(field),
  value: (field) => field === undefined || isString(field),
  nonce: isText,
  leaseDurationMs: isDuration,
  renewIntervalMs: isDuration,
  broken: (field) => field === undefined || (isString(fieldOf(field, "reason")) && isText(fieldOf(field, "id"))),
  bars: areBars,
  done: (field) => field === undefined || field === true,
  history: (field) => field === undefined || isString(field),
  quorum: (field) => field === undefined,
};

/** Every field that a lease record may have. A store that writes field by field removes each field that a record leaves out. */
export const LEASE_RECORD_FIELDS: readonly (keyof LeaseRecord)[] = Object.keys(MAY_BE) as (keyof LeaseRecord)[];

type Vacant = Pick<LeaseRecord, "term" | "nonce"> & Partial<Pick<LeaseRecord, "candidateId" | "leaseDurationMs">>;

/** Returns a record that nobody holds, with the lease and the interval of renewals that are an elector's defaults. */
export function vacantRecord({ term, candidateId = null, nonce, leaseDurationMs = DEFAULT_LEASE_MS }: Vacant): LeaseRecord {
  return { schema: RECORD_SCHEMA, term, termId: null, candidateId, nonce, leaseDurationMs, renewIntervalMs: leaseDurationMs / 3 };
}

/** Returns the fence that belongs to a record. It is closed once the term is vacated or broken. */
export function fenceOfRecord({ term, termId, broken }: LeaseRecord): Fence {
  return { term, termId: broken ? null : termId };
}

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

function describeSchema(schema: unknown): string {
  if (schema === undefined) return "missing";
  return typeof schema === "object" ? "an object" : String(schema as string | number | bigint | boolean);
}

function isString(field: unknown): boolean {
  return typeof field === "string";
}

function isDuration(field: unknown): boolean {
  return typeof field === "number" && Number.isFinite(field) && field > 0;
}

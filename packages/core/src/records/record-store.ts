import type { LeaseStoreCapabilities, StoreClock } from "../store/capabilities.ts";
import type { StoreWarnings } from "../reporting/store-warnings.ts";
import type { WatchOptions } from "../store/lease-store.ts";
import { areBars, type Bar } from "./bars.ts";

/**
 * A service that offers compare-and-swap on one record: all that a provider has to write, when the service does not
 * enforce leases itself. `RecordLeaseStore` decides expiry, terms and nonces on top of it.
 *
 * Required of the service: compare-and-swap on one record is linearizable, and acknowledged writes are not lost. A service that
 * may show a write before it is durable says so, by `showsUndurable`.
 */
export interface RecordStore {
  /** For messages and telemetry, for instance `dynamodb`. */
  readonly name: string;
  readonly capabilities: RecordStoreCapabilities;
  /** See {@link StoreWarnings}. */
  readonly warnings?: StoreWarnings | undefined;

  /** The election's record as it is, or `undefined`. `data` is handed over unchecked: the engine reads it. */
  get(election: string, options: GetOptions): Promise<StoredRecord | undefined>;

  /** Writes the record if its version is still `ifVersion` (`undefined`: if there is none). One request. */
  put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome>;

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
  /** The time after which it will, in milliseconds, for a store that has more than one request to fit into it. */
  readonly timeoutMs?: number | undefined;
}

export interface GetOptions extends RecordRequestOptions {
  /** False where a reply that lags behind the last write will do, which some services give at half the price. */
  readonly consistent: boolean;
}

export interface PutOptions extends RecordRequestOptions {
  readonly ifVersion: string | undefined;
  /**
   * True where everything that shows the age of the nonce stays as it is. Else the age counts from now: of a new nonce, or of
   * one whose age nobody could know any more.
   */
  readonly keepsNonce: boolean;
  /**
   * Set where the write changes whose guarded writes may pass. A store whose fence is a record of its own changes it
   * together with the lease record, or neither. Beside a record of a quorum ({@link QUORUM_SCHEMA}) it takes the place of whatever fence
   * there is, also of a later term: there the record says which is the later one.
   */
  readonly fence?: Fence | undefined;
}

/**
 * A version that no store gives a record: a write on the condition of it must fail. A service that reads versions as
 * something else than text has to be given one of its own in its place, and not one that it takes for none.
 */
export const IMPOSSIBLE_VERSION = "never";

/** The holder whose guarded writes pass: that of this term and termId; nobody while `termId` is null. */
export interface Fence {
  readonly term: number;
  readonly termId: string | null;
}

export type PutOutcome =
  | { readonly stored: true; readonly version: string }
  /** The condition failed; `current` where the service's answer shows what it found. */
  | { readonly stored: false; readonly current?: StoredRecord | undefined };

export interface StoredRecord {
  readonly data: unknown;
  /** Changes at every write of any kind. */
  readonly version: string;
  /**
   * Bounds, by the store's own clock, of the time since the present nonce was written: by one and the same clock. Absent
   * where that cannot be known, as where another server wrote it.
   */
  readonly nonceAgeMs?: readonly [min: number, max: number] | undefined;
  /**
   * The writer's wall clock when it sent the present nonce, in milliseconds since the Unix epoch. The age is believed to be
   * no more than by the wall clocks; and see {@link StoreClock.mayStep}.
   */
  readonly nonceWallMs?: number | undefined;
  /**
   * The time since this process first knew that the present nonce had been written, by its monotonic clock, where an earlier
   * answer of the service could not show it yet. Observed expiry counts from then.
   */
  readonly nonceKnownForMs?: number | undefined;
  /** The service tells the time, and the writer of the nonce did not know it: whoever needs its age has it counted anew. */
  readonly undated?: true | undefined;
  /**
   * Set where the record is gone, and the fence, which is a record of its own, remembers this term. `data` is ignored, and a write
   * on the condition of `version` makes a new record. Nobody acquires it before the former lease must have run out.
   */
  readonly lostTerm?: number | undefined;
}

/**
 * The record of one election. It is never deleted, so that terms survive release, expiry and break.
 * What administrators write (`broken`, a transfer or a pause among the `bars`) never changes the nonce that standbys time. It has the
 * `id` of the order that wrote it, by which an administrator whose reply was lost knows it again.
 */
export interface LeaseRecord {
  /** {@link QUORUM_SCHEMA} where a quorum of stores keeps the record, of which this one is a member: no other may read or write it. */
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
  /** The time that standbys wait after they have seen this nonce. */
  readonly leaseDurationMs: number;
  /** The interval at which the holder renews, for standbys' aim. */
  readonly renewIntervalMs: number;
  /** Renewal is closed: an administrator has broken this term. */
  readonly broken?: { readonly reason: string; readonly id: string } | undefined;
  /** What keeps candidates out beside the lease; absent where nothing does. While the lease is held, a transfer asks its holder to drain. */
  readonly bars?: readonly Bar[] | undefined;
  /** The occurrence is done: nobody may acquire it any more. An election's record never has it. */
  readonly done?: true | undefined;
  /** The note of a quorum, as JSON text, beside what its member keeps; only with {@link QUORUM_SCHEMA}. */
  readonly quorum?: string | undefined;
}

/** The schema of a record that one store keeps. It rises with whatever an older version must not overlook, such as the bars. */
export const RECORD_SCHEMA = 3;

/** The schema of a record that a quorum keeps in each of its members. It rises as {@link RECORD_SCHEMA} does, to a number of its own. */
export const QUORUM_SCHEMA = 4;

/** Every field that a lease record may have, for stores that write field by field: what a record leaves out is removed. */
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

/** The fence that belongs to a record: closed once the term is vacated or broken. */
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

/** What each field of a lease record may be. */
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

/** Whatever a stranger may have put there. */
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

/** A field that is absent, or an object with these fields. */
function isNote(fields: Readonly<Record<string, Check>>): Check {
  const checks = Object.entries(fields);
  return (field) => {
    if (typeof field !== "object") return field === undefined;
    return field !== null && checks.every(([name, mayBe]) => mayBe((field as Record<string, unknown>)[name]));
  };
}

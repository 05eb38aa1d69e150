import { StoreError } from "@leasehold/core";
import {
  AGE_UNCERTAINTY_MS,
  boundsOfAge,
  IMPOSSIBLE_VERSION,
  type Clock,
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
} from "@leasehold/core/provider";
import type { Bucket } from "./bucket.ts";
import { jsonContent } from "./json-content.ts";
import type { FoundObject } from "./object-service.ts";

/** The kind of records in a bucket. */
export interface RecordLocation {
  /** Returns the key of the record with this name in the engine. */
  readonly keyOf: (name: string) => string;
  /** True for leases, which must be kept for ever. */
  readonly isLease: boolean;
}

/**
 * Stores each record as JSON in one object. Writes are conditional on the object's version.
 *
 * The age of the nonce is the age of the object. An administrator's write keeps the nonce, but the object is then new and the age
 * begins again. So an expiry is found later, never sooner.
 *
 * A proxy may write its own date into a reply. So each object also has its writer's wall clock, and the smaller age counts.
 */
export class ObjectRecordStore implements RecordStore {
  readonly name: string;
  readonly capabilities: RecordStoreCapabilities;
  readonly warnings: Bucket["warnings"];
  readonly list?: NonNullable<RecordStore["list"]>;
  readonly #bucket: Bucket;
  readonly #location: RecordLocation;
  readonly #clock: Clock;
  /** By election, the nonce that the last read showed, if the reply's dates cannot be the service's. */
  readonly #misdated = new Map<string, unknown>();

  constructor(bucket: Bucket, location: RecordLocation, clock: Clock) {
    this.name = bucket.service.name;
    this.warnings = bucket.warnings;
    this.capabilities = {
      maxValueBytes: 65_536,
      fence: location.isLease ? "after-seal" : "none",
      // An expiry may be found late by the width of the age's bounds.
      storeClock: { toleranceMs: 2 * AGE_UNCERTAINTY_MS, exact: false },
    };
    this.#bucket = bucket;
    this.#location = location;
    this.#clock = clock;
    if (location.isLease) this.list = (prefix, options) => this.#list(prefix, options);
  }

  async get(election: string, { signal }: Pick<GetOptions, "signal">): Promise<StoredRecord | undefined> {
    const found = await this.#bucket.service.get(this.#location.keyOf(election), { operation: "get", election, signal });
    if (!found) return undefined;
    this.#bucket.saw(found, this.#location.isLease);
    const record = stored(found, this.#clock.wallMs());
    if (boundsOfAge(found.ageMs)) this.#misdated.delete(election);
    else this.#misdated.set(election, (record.data as Partial<LeaseRecord> | undefined)?.nonce);
    return record;
  }

  async put(election: string, record: LeaseRecord, { ifVersion, keepsNonce, fence, signal }: PutOptions): Promise<PutOutcome> {
    const { service } = this.#bucket;
    // The engine wants to restart the age of this nonce. The last read showed no valid age of it, and neither would the next one.
    if (!keepsNonce && this.#misdated.get(election) === record.nonce) throw this.#undated(election);
    await this.#bucket.waitUntilProven(election, signal);
    // Only an acquisition writes a fence with a `termId`.
    this.#bucket.assertWritable(election, this.#location.isLease && typeof fence?.termId === "string");
    // A new id makes every content, and so every ETag, unique.
    const content = jsonContent({ ...record, writeId: this.#clock.randomUuid(), wallMs: Math.ceil(this.#clock.wallMs()) });
    const version = ifVersion === IMPOSSIBLE_VERSION ? service.impossibleVersion : ifVersion;
    const written = await service.put(this.#location.keyOf(election), content, version, { operation: "put", election, signal });
    if (!written) return { stored: false };
    this.#bucket.saw(written, this.#location.isLease);
    return { stored: true, version: written.version };
  }

  #undated(election: string): StoreError {
    const message = `${this.name}: the age of the lease '${election}' is not known: a proxy writes its own Date, or the replies have none. Reach the service without the proxy, or let it keep the service's Date and Last-Modified.`;
    const details = { store: this.name, operation: "put", election, mayHaveBeenApplied: false };
    return new StoreError("STORE_REJECTED", message, details);
  }

  /** Lists the keys of a page, and then reads each record: a listing shows no content. */
  async *#list(prefix: string, { pageSize, request }: ListRecordsOptions): AsyncGenerator<ListedRecord> {
    const { service, keys } = this.#bucket;
    let from: string | undefined;
    do {
      const wanted = { size: pageSize, from };
      const page = await request(async ({ signal }: RecordRequestOptions) => {
        return await service.list(keys.lease(prefix), wanted, { operation: "list", election: prefix, signal });
      });
      for (const key of page.keys) {
        const election = keys.electionOf(key);
        if (election === undefined) continue;
        const found = await request(async (options) => await this.get(election, options));
        if (found) yield { election, stored: found };
      }
      from = page.next;
    } while (from !== undefined);
  }
}

/**
 * Converts an object to the engine's form. The engine refuses an object that is not a lease. If only one clock shows an age, a
 * candidate restarts the age once that clock shows a whole lease. If neither does, it restarts the age at once.
 */
function stored({ body, version, ageMs }: FoundObject, nowMs: number): StoredRecord {
  const { data, wallMs = Number.NaN } = parsed(body);
  const nonceAgeMs = boundsOfAge(ageMs);
  const wallAgeMs = nowMs - wallMs;
  const isWallClockRight = wallAgeMs >= -AGE_UNCERTAINTY_MS;
  if (nonceAgeMs && isWallClockRight) return { data, version, nonceAgeMs, nonceWallMs: wallMs };
  const { leaseDurationMs = Infinity } = (data ?? {}) as Partial<LeaseRecord>;
  const leastMs = nonceAgeMs?.[0] ?? (isWallClockRight ? wallAgeMs : Infinity);
  return { data, version, ...(leastMs >= leaseDurationMs ? { ageUnknown: true as const } : {}) };
}

function parsed(body: Uint8Array): { readonly data: unknown; readonly wallMs?: number | undefined } {
  try {
    const json = JSON.parse(new TextDecoder().decode(body)) as unknown;
    if (typeof json !== "object" || json === null) return { data: json };
    const { writeId: _, wallMs, ...data } = json as Readonly<Record<string, unknown>>;
    return { data, wallMs: typeof wallMs === "number" ? wallMs : undefined };
  } catch {
    return { data: undefined };
  }
}

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
  /** True if the records must be kept for ever. */
  readonly isLease: boolean;
}

/**
 * Stores each record as JSON in one object. Writes are conditional on the object's version.
 *
 * The age of the nonce is the age of the object. An administrator's write keeps the nonce, but the object is then new and the age
 * begins again. So an expiry is found later, never sooner.
 */
export class ObjectRecordStore implements RecordStore {
  readonly name: string;
  readonly capabilities: RecordStoreCapabilities;
  readonly warnings: Bucket["warnings"];
  readonly list?: NonNullable<RecordStore["list"]>;
  readonly #bucket: Bucket;
  readonly #location: RecordLocation;
  readonly #clock: Clock;

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
    return stored(found);
  }

  async put(election: string, record: LeaseRecord, { ifVersion, signal }: PutOptions): Promise<PutOutcome> {
    const { service } = this.#bucket;
    await this.#bucket.waitUntilProven(election, signal);
    this.#bucket.assertUsable(election);
    // A new id makes every content, and so every ETag, a new one.
    const content = jsonContent({ ...record, writeId: this.#clock.randomUuid() });
    const version = ifVersion === IMPOSSIBLE_VERSION ? service.impossibleVersion : ifVersion;
    const written = await service.put(this.#location.keyOf(election), content, version, { operation: "put", election, signal });
    if (!written) return { stored: false };
    this.#bucket.saw(written, this.#location.isLease);
    return { stored: true, version: written.version };
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

/** Converts an object to the engine's form, which refuses what is not a lease. */
function stored({ body, version, ageMs }: FoundObject): StoredRecord {
  return { data: parsed(body), version, nonceAgeMs: boundsOfAge(ageMs) };
}

function parsed(body: Uint8Array): unknown {
  try {
    const json = JSON.parse(new TextDecoder().decode(body)) as unknown;
    if (typeof json !== "object" || json === null) return json;
    const { writeId: _, ...record } = json as Readonly<Record<string, unknown>>;
    return record;
  } catch {
    return undefined;
  }
}

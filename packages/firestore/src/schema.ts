import { IMPOSSIBLE_VERSION, LEASE_RECORD_FIELDS, type LeaseRecord, type StoredRecord } from "@leasehold/core/provider";
import { nanosOf, wireTime, type WireTime } from "./wire.ts";

/**
 * The field with the time at which the nonce was written. Only a write that keeps the nonce sets it, because such a write changes
 * the document's update time.
 */
const NONCE_TIME = "nonceTime";
/**
 * The field with the time from which an occurrence may be deleted. A lease has none. If someone adds it to a lease, the next
 * write removes it.
 */
const EXPIRES_AT = "expiresAt";
/** The fields that a write sets. A write removes the fields for which it has no value. */
export const FIELD_MASK: readonly string[] = [...LEASE_RECORD_FIELDS, NONCE_TIME, EXPIRES_AT];

/**
 * A version of a lease document: its update time, and the time of its nonce. They are equal unless an administrator has written
 * since. Both are in nanoseconds since the epoch, by Firestore's clock.
 */
interface Version {
  readonly updated: bigint;
  readonly nonceWritten: bigint;
}

/**
 * Converts a lease document to the engine's form. The age of its nonce is exact, because both times are Firestore's own. A
 * document that is not a lease is returned too, because the engine refuses it.
 * @param data the fields. A time is a bigint of nanoseconds.
 */
export function stored(data: Record<string, unknown>, updated: bigint, read: bigint): StoredRecord {
  const { [NONCE_TIME]: nonceTime, [EXPIRES_AT]: _, ...record } = data;
  const nonceWritten = typeof nonceTime === "bigint" ? nonceTime : updated;
  const ageMs = Number(read - nonceWritten) / 1e6;
  return { data: record, version: formatVersion({ updated, nonceWritten }), nonceAgeMs: [ageMs, ageMs] };
}

/**
 * Returns the fields that store this record in a document.
 * @param expiresAt for an occurrence, in nanoseconds since the epoch by Firestore's clock
 */
export function fieldsOf(
  record: LeaseRecord,
  ifVersion: string | undefined,
  keepsNonce: boolean,
  expiresAt: bigint | undefined,
): Record<string, unknown> {
  return {
    ...Object.fromEntries(LEASE_RECORD_FIELDS.map((field) => [field, record[field]])),
    [NONCE_TIME]: keepsNonce && ifVersion !== undefined ? parseVersion(ifVersion).nonceWritten : undefined,
    [EXPIRES_AT]: expiresAt,
  };
}

/** Returns the version after a write. */
export function writtenVersion(updateTime: WireTime, ifVersion: string | undefined, keepsNonce: boolean): string {
  const updated = nanosOf(updateTime);
  return formatVersion({
    updated,
    nonceWritten: keepsNonce && ifVersion !== undefined ? parseVersion(ifVersion).nonceWritten : updated,
  });
}

/** Returns the update time that a document must still have. */
export function updateTimeOf(version: string): { seconds: string; nanos: number } {
  // A time long before Firestore existed. Firestore would read the epoch itself as no condition.
  if (version === IMPOSSIBLE_VERSION) return wireTime(BigInt(1_000_000_000));
  return wireTime(parseVersion(version).updated);
}

function formatVersion({ updated, nonceWritten }: Version): string {
  return `${updated}/${nonceWritten}`;
}

function parseVersion(version: string): Version {
  const [updated = "0", nonceWritten = updated] = version.split("/");
  return { updated: BigInt(updated), nonceWritten: BigInt(nonceWritten) };
}

import { IMPOSSIBLE_VERSION, LEASE_RECORD_FIELDS, type LeaseRecord, type StoredRecord } from "@leasehold/core/provider";
import { nanosOf, wireTime, type WireTime } from "./wire.ts";

/** The time at which the nonce was written, where an administrator has written since: every write moves the update time. */
const NONCE_TIME = "nonceTime";
/** The time from which an occurrence may be deleted. A lease has none: should anybody give it one, the next write removes it. */
const EXPIRES_AT = "expiresAt";
/** The fields that a write sets, or removes where it has no value for them. */
export const FIELD_MASK: readonly string[] = [...LEASE_RECORD_FIELDS, NONCE_TIME, EXPIRES_AT];

/**
 * A version of a lease document: its update time, and the time of its nonce, which is the same unless an administrator
 * has written since. In nanoseconds since the epoch, by Firestore's clock.
 */
interface Version {
  readonly updated: bigint;
  readonly nonceWritten: bigint;
}

/**
 * Returns a lease document as the engine takes it. The age of its nonce is exact: both times are Firestore's own.
 * @param data with moments as bigints of nanoseconds. A document that is no lease of ours is handed over, too: the engine refuses it.
 */
export function stored(data: Record<string, unknown>, updated: bigint, read: bigint): StoredRecord {
  const { [NONCE_TIME]: nonceTime, [EXPIRES_AT]: _, ...record } = data;
  const nonceWritten = typeof nonceTime === "bigint" ? nonceTime : updated;
  const ageMs = Number(read - nonceWritten) / 1e6;
  return { data: record, version: formatVersion({ updated, nonceWritten }), nonceAgeMs: [ageMs, ageMs] };
}

/**
 * Returns the fields that make a document hold this record.
 * @param expiresAt of an occurrence, in nanoseconds since the epoch by Firestore's clock
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

/** Returns the version that a write made. */
export function writtenVersion(updateTime: WireTime, ifVersion: string | undefined, keepsNonce: boolean): string {
  const updated = nanosOf(updateTime);
  return formatVersion({
    updated,
    nonceWritten: keepsNonce && ifVersion !== undefined ? parseVersion(ifVersion).nonceWritten : updated,
  });
}

/** Returns the update time that a document must still have. */
export function updateTimeOf(version: string): { seconds: string; nanos: number } {
  // Long before there was Firestore. The epoch itself it takes for no condition at all.
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

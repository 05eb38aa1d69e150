import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { LEASE_RECORD_FIELDS, type Interval, type LeaseRecord, type StoredRecord } from "@leasehold/core";
import { marshall, unmarshall } from "@aws-sdk/util-dynamodb";

/** The partition key: a string. */
export const KEY = "election";

/** What an item holds beside the lease record. */
interface Stamps {
  /** Random, new at every write of any kind. */
  readonly version?: unknown;
  /** Bounds of the service's time at which the present nonce was sent, in milliseconds since the Unix epoch. */
  readonly nonceNotBefore?: unknown;
  readonly nonceNotAfter?: unknown;
}

type Item = Record<string, AttributeValue>;

export function keyOf(election: string): Item {
  return { [KEY]: { S: election } };
}

/** An item as the engine takes it. What is no lease of ours is handed over, too: the engine says so. */
export function stored(item: Item, now: Interval | undefined): StoredRecord {
  // Of other attributes, too: by default a number that does not fit throws.
  const { version, nonceNotBefore, nonceNotAfter, ...data } = unmarshall(item, { wrapNumbers: Number }) as Stamps;
  const nonceAgeMs =
    typeof nonceNotBefore === "number" && typeof nonceNotAfter === "number" && now
      ? ageOf({ lo: nonceNotBefore, hi: nonceNotAfter }, now)
      : undefined;
  // Without a version there is nothing that a write could be conditional on, whatever else is there.
  if (typeof version !== "string") return { data: undefined, version: "" };
  return { data, version, ...(nonceAgeMs ? { nonceAgeMs } : {}) };
}

/** The time between two instants that are known within bounds; `undefined` where the later one is the earlier one. */
function ageOf(then: Interval, now: Interval): readonly [min: number, max: number] | undefined {
  const max = now.hi - then.lo;
  return max < 0 ? undefined : [Math.max(now.lo - then.hi, 0), max];
}

/** The update that makes an item hold this record. */
export interface ItemUpdate {
  readonly UpdateExpression: string;
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues: Item;
}

/**
 * @param sent bounds of the service's time at which the nonce is sent; `undefined` removes them, and `"keep"` leaves
 *   those of the nonce that stays.
 */
export function updateOf(
  record: LeaseRecord,
  version: string,
  ifVersion: string | undefined,
  sent: Interval | "keep" | undefined,
): ItemUpdate {
  const stamps: Record<string, unknown> = sent === "keep" ? {} : { nonceNotBefore: sent?.lo, nonceNotAfter: sent?.hi };
  const attributes: Record<string, unknown> = {
    ...Object.fromEntries(LEASE_RECORD_FIELDS.map((field) => [field, record[field]])),
    version,
    ...stamps,
  };
  const names = Object.keys(attributes);
  const set = names.filter((name) => attributes[name] !== undefined);
  const remove = names.filter((name) => attributes[name] === undefined);
  const removal = remove.length > 0 ? ` REMOVE ${remove.map((name) => `#${name}`).join(", ")}` : "";
  return {
    UpdateExpression: `SET ${set.map((name) => `#${name} = :${name}`).join(", ")}${removal}`,
    ConditionExpression: ifVersion === undefined ? `attribute_not_exists(#${KEY})` : "#version = :ifVersion",
    ExpressionAttributeNames: Object.fromEntries(
      [...names, ...(ifVersion === undefined ? [KEY] : [])].map((name) => [`#${name}`, name]),
    ),
    ExpressionAttributeValues: marshall({
      ...Object.fromEntries(set.map((name) => [`:${name}`, attributes[name]])),
      ...(ifVersion === undefined ? {} : { ":ifVersion": ifVersion }),
    }) as Item,
  };
}

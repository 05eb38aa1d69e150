import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { LEASE_RECORD_FIELDS, type Interval, type LeaseRecord, type StoredRecord } from "@leasehold/core/provider";
import { convertToAttr, unmarshall } from "@aws-sdk/util-dynamodb";

/** The names of a table's keys. Both are strings. */
export const PARTITION_KEY = "election";
export const SORT_KEY = "entry";
/** The sort key of every lease. */
const LEASE_ENTRY = "lease";

/** An item's key. An election's partition has its lease, and the occurrences of its schedule. */
export interface ItemKey {
  readonly [PARTITION_KEY]: string;
  readonly [SORT_KEY]: string;
}

/** The attributes of an item besides the lease record. */
interface Attributes extends Partial<Record<keyof Timestamps, unknown>> {
  /** A random text, new at every write of any kind. */
  readonly version?: unknown;
}

/**
 * The attributes with the times of a write. `undefined` removes an attribute from the item. An attribute that is left out stays
 * unchanged.
 */
export interface Timestamps {
  /** Bounds of the time at which the present nonce was sent, in milliseconds since the Unix epoch, by DynamoDB's clock. */
  readonly nonceNotBefore?: number | undefined;
  readonly nonceNotAfter?: number | undefined;
  /**
   * The writer's wall clock at the same moment. A reader compares it with its own wall clock, because its replies may carry the
   * `Date` of another server.
   */
  readonly nonceWallMs?: number | undefined;
  /** The time from which DynamoDB may delete the item, in seconds since the Unix epoch, as its TTL requires. A lease has none. */
  readonly expiresAt?: number | undefined;
}

type Item = Record<string, AttributeValue>;

export function leaseKey(election: string): ItemKey {
  return { [PARTITION_KEY]: election, [SORT_KEY]: LEASE_ENTRY };
}

/** Returns the filter of a scan for the leases of the elections whose names begin with `prefix`. */
export function leasesBeginning(prefix: string): {
  readonly FilterExpression: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues: Item;
} {
  const isLease = {
    FilterExpression: "#entry = :lease",
    ExpressionAttributeNames: { "#entry": SORT_KEY },
    ExpressionAttributeValues: { ":lease": { S: LEASE_ENTRY } },
  };
  // The service refuses a comparison with an empty text.
  if (prefix === "") return isLease;
  return {
    FilterExpression: `${isLease.FilterExpression} AND begins_with(#election, :prefix)`,
    ExpressionAttributeNames: { ...isLease.ExpressionAttributeNames, "#election": PARTITION_KEY },
    ExpressionAttributeValues: { ...isLease.ExpressionAttributeValues, ":prefix": { S: prefix } },
  };
}

/** Returns an occurrence's key. The prefix keeps an occurrence of any name from being taken for the lease. */
export function occurrenceKey(election: string, occurrence: string): ItemKey {
  return { [PARTITION_KEY]: election, [SORT_KEY]: `tick#${occurrence}` };
}

/** Returns the key in the form of a request. */
export function keyAttributes(key: ItemKey): Item {
  return { [PARTITION_KEY]: { S: key[PARTITION_KEY] }, [SORT_KEY]: { S: key[SORT_KEY] } };
}

/**
 * Converts an item to the engine's form. An item that is not a lease is returned too, because the engine refuses it. @param now
 * bounds of the service's present time.
 */
export function stored(item: Item, now: Interval | undefined): StoredRecord {
  // Another program may have added attributes. Without `wrapNumbers`, a number in them that JavaScript cannot represent would
  // throw.
  const attributes: Attributes = unmarshall(item, { wrapNumbers: Number });
  // DynamoDB deletes late. An item counts until it is deleted, whatever its `expiresAt`.
  const { version, nonceNotBefore, nonceNotAfter, nonceWallMs, expiresAt: _, ...data } = attributes;
  // A write needs a version for its condition, so an item without one cannot be used.
  if (typeof version !== "string") return { data: undefined, version: "" };
  const dated = [nonceNotBefore, nonceNotAfter, nonceWallMs].every((stamp) => typeof stamp === "number");
  if (!now) return { data, version };
  if (!dated) return { data, version, ageUnknown: true };
  const nonceAgeMs = ageOf({ lo: nonceNotBefore as number, hi: nonceNotAfter as number }, now);
  return { data, version, ...(nonceAgeMs ? { nonceAgeMs, nonceWallMs: nonceWallMs as number } : {}) };
}

/**
 * Returns bounds of the time between two instants that are known within bounds; `undefined` if `now` is certainly before `then`.
 */
function ageOf(then: Interval, now: Interval): readonly [min: number, max: number] | undefined {
  const max = now.hi - then.lo;
  return max < 0 ? undefined : [Math.max(now.lo - then.hi, 0), max];
}

/** The update that stores a record in an item. */
export interface ItemUpdate {
  readonly UpdateExpression: string;
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues: Item;
}

const IS_NEW = `attribute_not_exists(#${PARTITION_KEY})`;
const IS_OF_VERSION = "#version = :ifVersion";

/** The part of an update that is the same for all records with the same attributes. */
interface Wording extends Omit<ItemUpdate, "ExpressionAttributeValues"> {
  /** The attributes that the update sets, each to the value of the same name. */
  readonly set: readonly string[];
}

/**
 * A cache. Its key is the condition, and the names of the attributes to set and to remove. It has few entries, and all renewals
 * use the same one.
 */
const wordings = new Map<string, Wording>();

/**
 * Returns the update of an item whose version is still `ifVersion`. With `undefined` it is the update of an item that does not
 * exist.
 */
export function updateOf(record: LeaseRecord, version: string, ifVersion: string | undefined, stamps: Timestamps): ItemUpdate {
  const beside: Attributes = { version, ...stamps };
  const attributes: Record<string, unknown> = {};
  const condition = ifVersion === undefined ? IS_NEW : IS_OF_VERSION;
  let key = condition;
  for (const field of LEASE_RECORD_FIELDS) {
    const value = record[field];
    attributes[field] = value;
    // The fields always come in this order, so the key needs no names.
    key += value === undefined ? "-" : "+";
  }
  for (const [name, value] of Object.entries(beside)) {
    attributes[name] = value;
    key += value === undefined ? `-${name}` : `+${name}`;
  }
  let wording = wordings.get(key);
  if (!wording) wordings.set(key, (wording = compiled(attributes, condition)));
  const { set, ...expressions } = wording;
  const values: Item = {};
  for (const name of set) values[`:${name}`] = attributeOf(attributes[name]);
  if (ifVersion !== undefined) values[":ifVersion"] = attributeOf(ifVersion);
  return { ...expressions, ExpressionAttributeValues: values };
}

/** Converts a value as the SDK does, but faster for texts and safe numbers. A renewal consists almost only of those. */
function attributeOf(value: unknown): AttributeValue {
  if (typeof value === "string") return { S: value };
  if (typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER) return { N: String(value) };
  return convertToAttr(value);
}

function compiled(attributes: Readonly<Record<string, unknown>>, condition: string): Wording {
  const names = Object.keys(attributes);
  const set = names.filter((name) => attributes[name] !== undefined);
  const remove = names.filter((name) => attributes[name] === undefined);
  const assigned = set.map((name) => `#${name} = :${name}`);
  const removal = remove.length > 0 ? ` REMOVE ${remove.map((name) => `#${name}`).join(", ")}` : "";
  // Names the partition key only if the condition uses it, because DynamoDB refuses unused names.
  const asked = condition === IS_NEW ? [...names, PARTITION_KEY] : names;
  return {
    UpdateExpression: `SET ${assigned.join(", ")}${removal}`,
    ConditionExpression: condition,
    ExpressionAttributeNames: Object.fromEntries(asked.map((name) => [`#${name}`, name])),
    set,
  };
}

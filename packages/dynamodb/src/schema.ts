import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { LEASE_RECORD_FIELDS, type Interval, type LeaseRecord, type StoredRecord } from "@leasehold/core/provider";
import { convertToAttr, unmarshall } from "@aws-sdk/util-dynamodb";

/** The names of a table's keys, which are strings. */
export const PARTITION_KEY = "election";
export const SORT_KEY = "entry";

/** An item's key: in an election's partition is its lease, and beside it the occurrences of its schedule. */
export interface ItemKey {
  readonly [PARTITION_KEY]: string;
  readonly [SORT_KEY]: string;
}

/** The attributes that an item has beside the lease record. */
interface Attributes extends Partial<Record<keyof Stamps, unknown>> {
  /** Random, new at every write of any kind. */
  readonly version?: unknown;
}

/** The attributes by which a write dates itself. `undefined` removes one from the item; one that is left out stays. */
export interface Stamps {
  /** Bounds of the time at which the present nonce was sent, in milliseconds since the Unix epoch. */
  readonly nonceNotBefore?: number | undefined;
  readonly nonceNotAfter?: number | undefined;
  /** The writer's wall clock then: another path to the service may be dated by another clock. */
  readonly nonceWallMs?: number | undefined;
  /** The time from which DynamoDB may delete the item, in seconds since the Unix epoch, as its TTL wants it. A lease has none. */
  readonly expiresAt?: number | undefined;
}

type Item = Record<string, AttributeValue>;

export function leaseKey(election: string): ItemKey {
  return { [PARTITION_KEY]: election, [SORT_KEY]: "lease" };
}

/** Prefixed, so that no occurrence is ever taken for the lease, whatever it is called. */
export function occurrenceKey(election: string, occurrence: string): ItemKey {
  return { [PARTITION_KEY]: election, [SORT_KEY]: `tick#${occurrence}` };
}

/** Returns the key as a request has it. */
export function keyAttributes(key: ItemKey): Item {
  return { [PARTITION_KEY]: { S: key[PARTITION_KEY] }, [SORT_KEY]: { S: key[SORT_KEY] } };
}

/** Returns an item as the engine takes it. One that is no lease of ours is handed over, too: the engine refuses it. */
export function stored(item: Item, now: Interval | undefined): StoredRecord {
  // Of other attributes, too: by default a number that does not fit throws.
  const attributes: Attributes = unmarshall(item, { wrapNumbers: Number });
  // DynamoDB deletes late: until then an item counts as it is, whatever its `expiresAt`.
  const { version, nonceNotBefore, nonceNotAfter, nonceWallMs, expiresAt: _, ...data } = attributes;
  // Without a version there is nothing that a write could be conditional on, whatever else is there.
  if (typeof version !== "string") return { data: undefined, version: "" };
  const dated = [nonceNotBefore, nonceNotAfter, nonceWallMs].every((stamp) => typeof stamp === "number");
  if (!now) return { data, version };
  if (!dated) return { data, version, undated: true };
  const nonceAgeMs = ageOf({ lo: nonceNotBefore as number, hi: nonceNotAfter as number }, now);
  return { data, version, ...(nonceAgeMs ? { nonceAgeMs, nonceWallMs: nonceWallMs as number } : {}) };
}

/** Returns the time between two instants that are known within bounds; `undefined` where the later one is the earlier one. */
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

/** Returns the update of an item whose version is still `ifVersion`; `undefined`: of one that is not there. */
export function updateOf(record: LeaseRecord, version: string, ifVersion: string | undefined, stamps: Stamps): ItemUpdate {
  const isNew = ifVersion === undefined;
  return itemUpdate(record, { version, ...stamps }, isNew ? IS_NEW : IS_OF_VERSION, isNew ? {} : { ifVersion });
}

/**
 * Returns the update of an item that is open, as core's `isOpen` has it, and a lease of ours; or of one that is not there, where
 * it may be made. See {@link writtenOver}.
 */
export function openUpdateOf(record: LeaseRecord, version: string, mayCreate: boolean, stamps: Stamps): ItemUpdate {
  const condition = {
    // AND binds closer.
    expression: mayCreate ? `${ABSENT} OR ${VACATED}` : VACATED,
    names: [...LEASE_RECORD_FIELDS, "version", ...(mayCreate ? [PARTITION_KEY] : [])],
    computed: OF_BEFORE,
  };
  return itemUpdate(record, { version, ...stamps }, condition, {
    ours: record.schema,
    text: "S",
    null: "NULL",
    zero: 0,
    one: 1,
    before: record.term - 1,
    last: Number.MAX_SAFE_INTEGER,
  });
}

/**
 * Returns the term and the version that such an update has given its item: `first` where there was none before. The term is one
 * above the one it replaced, and the version is the nonce there: this request, carried out once more, finds another.
 */
export function writtenOver(before: Item | undefined, first: Written): Written {
  return before ? { term: Number(before["term"]?.N) + 1, version: String(before["nonce"]?.S) } : first;
}

interface Written {
  readonly term: number;
  readonly version: string;
}

const ABSENT = `attribute_not_exists(#${PARTITION_KEY})`;
/** What {@link writtenOver} returns, by the item that it is written over. */
const OF_BEFORE = { term: "if_not_exists(#term, :before) + :one", version: "if_not_exists(#nonce, :version)" };
/** A lease of ours on which nobody leads, and which nothing bars. */
const VACATED = [
  "#schema = :ours",
  "attribute_type(#version, :text)",
  "attribute_type(#nonce, :text)",
  "attribute_type(#termId, :null)",
  "#term >= :before",
  "#term < :last",
  "#leaseDurationMs > :zero",
  "#renewIntervalMs > :zero",
  ...["value", "bars", "done", "quorum"].map((field) => `attribute_not_exists(#${field})`),
].join(" AND ");

/** The condition of an update; its names are without the sign before them. */
interface Condition {
  readonly expression: string;
  readonly names: readonly string[];
  /** The attributes that do not take their value as it is given, each as an expression. */
  readonly computed: Readonly<Record<string, string>>;
}

const IS_NEW: Condition = { expression: ABSENT, names: [PARTITION_KEY], computed: {} };
const IS_OF_VERSION: Condition = { expression: "#version = :ifVersion", names: ["version"], computed: {} };

/** The part of an update that is the same for all records with the same attributes. */
interface Wording extends Pick<ItemUpdate, "UpdateExpression" | "ConditionExpression" | "ExpressionAttributeNames"> {
  /** The attributes whose values it uses. */
  readonly given: readonly Given[];
}

interface Given {
  readonly name: string;
  /** Its value's name in the expressions. */
  readonly placeholder: string;
}

/** By the attributes that are set and removed, and the condition: a few, since each renewal needs the same one again. */
const wordings = new Map<string, Wording>();

/** @param values of the condition. */
function itemUpdate(
  record: LeaseRecord,
  beside: Attributes,
  condition: Condition,
  values: Readonly<Record<string, unknown>>,
): ItemUpdate {
  const attributes: Record<string, unknown> = {};
  let key = condition.expression;
  for (const field of LEASE_RECORD_FIELDS) {
    const value = record[field];
    attributes[field] = value;
    // The fields are always the same ones, in this order.
    key += value === undefined ? "-" : "+";
  }
  for (const [name, value] of Object.entries(beside)) {
    attributes[name] = value;
    key += value === undefined ? `-${name}` : `+${name}`;
  }
  let wording = wordings.get(key);
  if (!wording) wordings.set(key, (wording = worded(attributes, condition)));
  const { given, UpdateExpression, ConditionExpression, ExpressionAttributeNames } = wording;
  const used: Item = {};
  for (const { name, placeholder } of given) used[placeholder] = attributeOf(attributes[name]);
  for (const name of Object.keys(values)) used[`:${name}`] = attributeOf(values[name]);
  return { UpdateExpression, ConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues: used };
}

/** As the SDK has it, which takes its time over each value, and a renewal has little else than text and numbers that are safe. */
function attributeOf(value: unknown): AttributeValue {
  if (typeof value === "string") return { S: value };
  if (typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER) return { N: String(value) };
  return convertToAttr(value);
}

function worded(attributes: Readonly<Record<string, unknown>>, { expression, names: asked, computed }: Condition): Wording {
  const names = Object.keys(attributes);
  const set = names.filter((name) => attributes[name] !== undefined);
  const remove = names.filter((name) => attributes[name] === undefined);
  const expressionOf = (name: string): string => computed[name] ?? `:${name}`;
  const assigned = set.map((name) => `#${name} = ${expressionOf(name)}`);
  const removal = remove.length > 0 ? ` REMOVE ${remove.map((name) => `#${name}`).join(", ")}` : "";
  // DynamoDB refuses values that nothing uses.
  const given = set.map((name) => ({ name, placeholder: `:${name}` }));
  return {
    UpdateExpression: `SET ${assigned.join(", ")}${removal}`,
    ConditionExpression: expression,
    ExpressionAttributeNames: Object.fromEntries([...names, ...asked].map((name) => [`#${name}`, name])),
    given: given.filter(({ name, placeholder }) => expressionOf(name).includes(placeholder)),
  };
}

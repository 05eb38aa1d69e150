import { checkTerm, endOfPrefix } from "@leasehold/core/provider";
import type { Json } from "./transport.ts";

/** A key as a range shows it. */
export interface KeyValue {
  readonly key: string;
  /** The bytes of the key, as base64. Another program's key may be no text. */
  readonly rawKey: string;
  readonly value: string;
  /**
   * etcd's revision at which the key was created. etcd's revision rises with every write; this value stays while the key exists.
   */
  readonly createRevision: number;
  readonly modRevision: number;
  /** The lease that the key is on, as decimal digits; "0" if it is on none. */
  readonly lease: string;
}

/** The header of a reply. */
export interface Header {
  readonly clusterId: string;
  readonly revision: number;
  readonly raftTerm: string;
}

/** A condition of a transaction, as etcd's gateway takes it; bytes are base64, 64-bit numbers decimal digits. */
export interface EtcdCompare {
  readonly key: string;
  /** The end of the range of keys that must all meet the condition. */
  readonly range_end?: string;
  readonly target: "CREATE" | "MOD" | "LEASE" | "VERSION" | "VALUE";
  readonly result: "EQUAL" | "GREATER";
  readonly create_revision?: string;
  readonly mod_revision?: string;
  readonly lease?: string;
  readonly version?: string;
  readonly value?: string;
}

/** All keys that begin with a prefix, which ends with a slash. */
export interface KeyRange {
  readonly key: string;
  readonly range_end: string;
}

/** Returns the keys below a prefix that ends with a slash: the byte after a slash is a zero digit. */
export function below(prefix: string): KeyRange {
  return { key: bytes(prefix), range_end: bytes(`${prefix.slice(0, -1)}0`) };
}

/** Returns the range of the keys that begin with a text, which is not empty. */
export function beginning(text: string): KeyRange {
  return { key: bytes(text), range_end: bytes(endOfPrefix(text) as string) };
}

/** Returns the least key after this one, both as base64. */
export function keyAfter(rawKey: string): string {
  return Buffer.concat([Buffer.from(rawKey, "base64"), Buffer.from("\0")]).toString("base64");
}

export function bytes(text: string): string {
  return Buffer.from(text).toString("base64");
}

export function textOf(base64: unknown): string {
  return typeof base64 === "string" ? Buffer.from(base64, "base64").toString() : "";
}

/** Returns the condition that a key was created at this revision; 0: that it does not exist. */
export function createdAt(key: string, revision: number): EtcdCompare {
  return { key: bytes(key), target: "CREATE", result: "EQUAL", create_revision: String(revision) };
}

/** Returns the condition that a key has this value. */
export function holds(key: string, value: string): EtcdCompare {
  return { key: bytes(key), target: "VALUE", result: "EQUAL", value: bytes(value) };
}

/** Returns the condition that a key was last written at this revision; 0: that it does not exist. */
export function writtenAt(key: string, revision: string): EtcdCompare {
  return { key: bytes(key), target: "MOD", result: "EQUAL", mod_revision: revision };
}

export function onLease(key: string, lease: string): EtcdCompare {
  return { key: bytes(key), target: "LEASE", result: "EQUAL", lease };
}

export function getting(key: string): Json {
  return { request_range: { key: bytes(key) } };
}

export function ranging(range: KeyRange, options: Json = {}): Json {
  return { request_range: { ...range, ...options } };
}

/** Limits a range to its oldest key. */
export const OLDEST: Json = { sort_target: "CREATE", sort_order: "ASCEND", limit: "1" };

/** Returns a read of the first keys in a range, in their order and without their values. The bounds are base64. */
export function keysFrom(key: string, rangeEnd: string, limit: number): Json {
  return { request_range: { key, range_end: rangeEnd, limit: String(limit), keys_only: true } };
}

export function putting(key: string, value: string, lease: string): Json {
  return { request_put: { key: bytes(key), value: bytes(value), lease } };
}

export function deleting(key: string): Json {
  return { request_delete_range: { key: bytes(key) } };
}

export function keyValue(given: Json): KeyValue {
  return {
    key: textOf(given["key"]),
    rawKey: typeof given["key"] === "string" ? given["key"] : "",
    value: textOf(given["value"]),
    createRevision: revisionOf(given["create_revision"]),
    modRevision: revisionOf(given["mod_revision"]),
    lease: typeof given["lease"] === "string" ? given["lease"] : "0",
  };
}

/** Returns the keys of each range in a transaction's reply, in the order of its operations; none for other operations. */
export function rangesOf(reply: Json): ReadonlyArray<readonly KeyValue[]> {
  return objects(reply["responses"]).map((response) =>
    objects((response["response_range"] as Json | undefined)?.["kvs"]).map(keyValue),
  );
}

export function headerOf(reply: Json): Header | undefined {
  const header = reply["header"] as Json | undefined;
  if (typeof header?.["cluster_id"] !== "string") return undefined;
  return { clusterId: header["cluster_id"], revision: revisionOf(header["revision"]), raftTerm: String(header["raft_term"]) };
}

export function objects(given: unknown): readonly Json[] {
  return Array.isArray(given) ? (given as readonly Json[]) : [];
}

/** @throws {ConfigurationError} for a revision beyond what a number can hold. */
function revisionOf(digits: unknown): number {
  if (digits === undefined) return 0;
  const revision = Number(digits);
  if (revision !== 0) checkTerm("etcd's revision", revision);
  return revision;
}

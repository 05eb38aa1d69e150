import { EtcdFailure, type EtcdCompare, type Json } from "@leasehold/etcd";

/** A key as etcd stores it. Key and value are text; a lease is decimal digits, "0" for none. */
export interface StoredKey {
  readonly key: string;
  readonly value: string;
  readonly lease: string;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly version: number;
}

/** A change of one key; for a deleted key, its last value. */
export interface KeyEvent {
  readonly type: "PUT" | "DELETE";
  readonly revision: number;
  readonly key: StoredKey;
}

/** A transaction in the shape of the gateway. */
export interface Transaction {
  readonly compare?: readonly EtcdCompare[];
  readonly success?: readonly Json[];
  readonly failure?: readonly Json[];
}

const NOT_FOUND = 5;

export function leaseNotFound(): EtcdFailure {
  return new EtcdFailure("etcdserver: requested lease not found", { status: 404, grpcCode: NOT_FOUND });
}

/** The keys of etcd, with their revisions and their history. A transaction is one step. */
export class EtcdKeys {
  revision = 1;
  /** The history up to this revision is deleted. */
  compacted = 0;
  readonly #keys = new Map<string, StoredKey>();
  readonly #history: KeyEvent[] = [];
  readonly #hasLease: (lease: string) => boolean;
  readonly #changed: (events: readonly KeyEvent[]) => void;

  /** @param changed receives each step's changes. */
  constructor(hasLease: (lease: string) => boolean, changed: (events: readonly KeyEvent[]) => void) {
    this.#hasLease = hasLease;
    this.#changed = changed;
  }

  /** Carries a transaction out. Returns its reply, without the header. */
  transact({ compare = [], success = [], failure = [] }: Transaction): Json {
    const succeeded = this.holds(compare);
    const operations = succeeded ? success : failure;
    for (const { request_put: put } of operations) {
      const { lease = "0" } = (put ?? {}) as { readonly lease?: string };
      if (lease !== "0" && !this.#hasLease(lease)) throw leaseNotFound();
    }
    const responses = this.#step((events) => operations.map((operation) => this.#carryOut(operation, events)));
    return { ...(succeeded ? { succeeded } : {}), responses };
  }

  /** Reports whether all conditions hold. */
  holds(compare: readonly EtcdCompare[]): boolean {
    return compare.every((one) => {
      const found = this.#in(one);
      return (found.length === 0 ? [undefined] : found).every((key) => meets(key, one));
    });
  }

  /** Puts a key, as a candidate outside of the simulation does. */
  put(key: string, value: string, lease: string): void {
    this.#step((events) => this.#put(key, value, lease, events));
  }

  /** Deletes keys, as the end of a lease does. */
  drop(keys: Iterable<string>): void {
    this.#step((events) => {
      for (const key of keys) this.#delete(key, events);
    });
  }

  get(key: string): StoredKey | undefined {
    return this.#keys.get(key);
  }

  /** Returns the keys that begin with a prefix, the oldest first. */
  under(prefix: string): StoredKey[] {
    return [...this.#keys.values()].filter(({ key }) => key.startsWith(prefix)).toSorted(byAge);
  }

  /** Returns the keys on a lease. */
  on(lease: string): string[] {
    return [...this.#keys.values()].filter((key) => key.lease === lease).map(({ key }) => key);
  }

  /** Returns the changes since a revision. */
  since(revision: number): readonly KeyEvent[] {
    return this.#history.filter((event) => event.revision >= revision);
  }

  /** Deletes the history. */
  compact(): void {
    this.compacted = this.revision;
    this.#history.length = 0;
  }

  #step<T>(act: (events: KeyEvent[]) => T): T {
    const events: KeyEvent[] = [];
    const done = act(events);
    if (events.length === 0) return done;
    this.revision += 1;
    this.#history.push(...events);
    this.#changed(events);
    return done;
  }

  #carryOut(operation: Json, events: KeyEvent[]): Json {
    const {
      request_range: range,
      request_put: put,
      request_delete_range: removal,
    } = operation as Record<string, Json | undefined>;
    if (range) return { response_range: { kvs: this.#range(range) } };
    if (put) this.#put(textOf(put["key"]), textOf(put["value"]), (put["lease"] as string | undefined) ?? "0", events);
    if (removal) for (const { key } of this.#in(removal)) this.#delete(key, events);
    return put ? { response_put: {} } : { response_delete_range: {} };
  }

  #range(range: Json): Json[] {
    const options = range as Record<string, string | undefined>;
    const { sort_order: order, sort_target: target, limit, max_create_revision: oldest = "0" } = options;
    const found = this.#in(range).filter(({ createRevision }) => oldest === "0" || createRevision <= Number(oldest));
    const ordered = target === "CREATE" ? found : found.toSorted((one, other) => compareKeys(one.key, other.key));
    const sorted = order === "DESCEND" ? ordered.toReversed() : ordered;
    return sorted.slice(0, Number(limit ?? Infinity)).map(shown);
  }

  #put(key: string, value: string, lease: string, events: KeyEvent[]): void {
    const modRevision = this.revision + 1;
    const { createRevision = modRevision, version = 0 } = this.#keys.get(key) ?? {};
    const stored = { key, value, lease, createRevision, modRevision, version: version + 1 };
    this.#keys.set(key, stored);
    events.push({ type: "PUT", revision: modRevision, key: stored });
  }

  #delete(key: string, events: KeyEvent[]): void {
    const stored = this.#keys.get(key);
    if (stored && this.#keys.delete(key)) events.push({ type: "DELETE", revision: this.revision + 1, key: stored });
  }

  /** Returns the keys of a range, the oldest first. */
  #in({ key, range_end: end }: Json | EtcdCompare): StoredKey[] {
    const from = textOf(key);
    const one = this.#keys.get(from);
    if (end === undefined) return one ? [one] : [];
    const to = textOf(end);
    const isBelow = (stored: string): boolean => to === "\0" || compareKeys(stored, to) < 0;
    return [...this.#keys.values()].filter((stored) => compareKeys(stored.key, from) >= 0 && isBelow(stored.key)).toSorted(byAge);
  }
}

/** Compares keys byte by byte. */
function compareKeys(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** Returns a key as the gateway shows it, without zeros. */
export function shown({ key, value, lease, createRevision, modRevision, version }: StoredKey): Json {
  return {
    key: base64(key),
    value: base64(value),
    create_revision: String(createRevision),
    mod_revision: String(modRevision),
    version: String(version),
    ...(lease === "0" ? {} : { lease }),
  };
}

export function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

export function textOf(given: unknown): string {
  return typeof given === "string" ? Buffer.from(given, "base64").toString() : "";
}

function byAge(one: StoredKey, other: StoredKey): number {
  return one.createRevision - other.createRevision;
}

function meets(key: StoredKey | undefined, compare: EtcdCompare): boolean {
  const [is, wanted] = {
    CREATE: [key?.createRevision ?? 0, compare.create_revision],
    MOD: [key?.modRevision ?? 0, compare.mod_revision],
    VERSION: [key?.version ?? 0, compare.version],
    LEASE: [key?.lease ?? "0", compare.lease],
    VALUE: [key?.value, textOf(compare.value)],
  }[compare.target];
  if (compare.result === "GREATER") return Number(is) > Number(wanted);
  return String(is) === wanted;
}

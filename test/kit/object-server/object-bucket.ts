import { createHash } from "node:crypto";

/** An object, as a service keeps it. */
export interface StoredObject {
  readonly body: Uint8Array;
  /** The headers of its content, and those of its metadata, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** S3's version: a digest of the content alone. */
  readonly etag: string;
  /** The version of GCS: higher with every write. */
  readonly generation: string;
  readonly writtenMs: number;
}

/** The condition of a write. */
export type Condition = { readonly kind: "absent" } | { readonly kind: "etag" | "generation"; readonly is: string };

/** How a lax service treats conditions. A strict one keeps all of them. */
export type Laxity = "ignores-absent" | "ignores-version" | undefined;

/** The result of a write. */
export type Written = { readonly object: StoredObject } | "condition-failed" | "missing";

/** The objects of a bucket. A condition and its write are one step. */
export class ObjectBucket {
  /** The name of the only bucket that exists. */
  readonly name: string;
  readonly objects: Map<string, StoredObject> = new Map();
  readonly nowMs: () => number;
  laxity: Laxity;
  /** The documents of the bucket's settings, by their names in the protocol. */
  readonly settings: Map<string, string> = new Map();
  /** Headers that are added to every reply about an object. */
  signs: Readonly<Record<string, string>> = {};
  /** Called after each write. */
  onWritten: ((key: string, before: StoredObject | undefined, object: StoredObject) => void) | undefined;
  #generation = 1_700_000_000_000_000;

  constructor(name: string, nowMs: () => number = Date.now) {
    this.name = name;
    this.nowMs = nowMs;
  }

  put(key: string, body: Uint8Array, headers: Readonly<Record<string, string>>, condition: Condition | undefined): Written {
    const before = this.objects.get(key);
    if (condition && !this.#ignores(condition)) {
      if (condition.kind === "absent") {
        if (before) return "condition-failed";
      } else {
        if (!before) return "missing";
        if (before[condition.kind] !== condition.is) return "condition-failed";
      }
    }
    this.#generation += 1;
    const etag = `"${createHash("md5").update(body).digest("hex")}"`;
    const object = { body, headers, etag, generation: String(this.#generation), writtenMs: this.nowMs() };
    this.objects.set(key, object);
    this.onWritten?.(key, before, object);
    return { object };
  }

  /** Returns the keys that begin with a prefix, up to the next delimiter, after a key. */
  page(prefix: string, delimiter: string, after: string, most: number): { readonly keys: string[]; readonly next?: string } {
    const all = [...this.objects.keys()]
      .filter((key) => key.startsWith(prefix) && key > after)
      .filter((key) => delimiter === "" || !key.slice(prefix.length).includes(delimiter))
      .toSorted();
    const keys = all.slice(0, most);
    return { keys, ...(all.length > most ? { next: keys.at(-1) ?? "" } : {}) };
  }

  #ignores({ kind }: Condition): boolean {
    return this.laxity === (kind === "absent" ? "ignores-absent" : "ignores-version");
  }
}

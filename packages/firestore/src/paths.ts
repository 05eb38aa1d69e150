import { ConfigurationError } from "@leasehold/core";
import { endOfPrefix } from "@leasehold/core/provider";

/** A range of the ids of one collection. Without a bound, the range is open on that side. */
export interface IdRange {
  /** The range begins with this id, whether or not a document has it. */
  readonly from?: string | undefined;
  /** The last id of the previous page. The range begins after it. */
  readonly after?: string | undefined;
  /** The first id above the range. */
  readonly end?: string | undefined;
}

/** Ids that Firestore reserves. */
const RESERVED = /^(\.{1,2}|__.*__)$/;

/** The paths of the documents of elections, or of one election's occurrences. */
export class Paths {
  readonly #collection: string;

  /** @throws {ConfigurationError} unless `collection` is the path of a collection. */
  constructor(collection: string) {
    const segments = typeof collection === "string" ? collection.split("/") : [];
    // https://firebase.google.com/docs/firestore/quotas#collections_documents_and_fields
    if (segments.length % 2 === 0 || segments.some((segment) => segment === "" || /^(\.{1,2}|__.*__)$/.test(segment))) {
      throw new ConfigurationError(
        `collection is ${JSON.stringify(collection)}; it must be the path of a collection, such as 'leasehold' or 'apps/billing/leases'.`,
      );
    }
    this.#collection = collection;
  }

  /** The path of the collection. */
  get collection(): string {
    return this.#collection;
  }

  record(name: string): string {
    return `${this.#collection}/${documentId(name)}`;
  }

  /**
   * Returns the path of an election's fence. It is a document of its own, so that renewals never conflict with the transactions
   * that read it. Occurrences have no such document.
   */
  fence(election: string): string {
    return `${this.record(election)}/fence/current`;
  }

  /**
   * Returns the paths of an election's occurrences. They have a collection of their own, so that their TTL policy cannot delete a
   * lease.
   */
  occurrences(election: string): Paths {
    return new Paths(`${this.record(election)}/ticks`);
  }
}

/**
 * Returns ranges that contain the document ids of all names with this prefix. They may contain other ids, too. A reserved id has
 * its first character encoded, so it lies in a range of its own.
 */
export function idRanges(prefix: string): readonly IdRange[] {
  const encoded = encodeURIComponent(prefix);
  if (encoded === "") return [{}];
  const prefixes = [encoded];
  if (/^\.{1,2}$/.test(encoded)) prefixes.push(encoded.replaceAll(".", "%2E"));
  if (/^_(_|$)/.test(encoded)) prefixes.push(`%5F${encoded.slice(1)}`);
  return prefixes.map((each) => ({ from: boundOf(each), end: boundOf(endOfPrefix(each) ?? "") }));
}

/** Returns the bound in a form that Firestore takes as an id. No document's id lies between that form and the bound. */
function boundOf(bound: string): string {
  const id = bound.replace(/\/$/, "0");
  return RESERVED.test(id) ? `${id}!` : id;
}

/** Returns the name for which a document has this id; `undefined` if no name has it. */
export function nameOf(id: string): string | undefined {
  try {
    const name = decodeURIComponent(id);
    return documentId(name) === id ? name : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns a document id for any name. It is percent-encoded as UTF-8. The names that Firestore reserves (`.`, `..` and `__…__`)
 * are encoded too.
 */
function documentId(name: string): string {
  const id = encodeURIComponent(name);
  if (/^\.{1,2}$/.test(id)) return id.replaceAll(".", "%2E");
  return /^__.*__$/.test(id) ? `%5F${id.slice(1)}` : id;
}

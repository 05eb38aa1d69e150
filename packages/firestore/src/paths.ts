import { ConfigurationError } from "@leasehold/core";

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

  record(name: string): string {
    return `${this.#collection}/${documentId(name)}`;
  }

  /**
   * Returns the path of an election's fence. It is a document of its own, so that renewals never conflict with the transactions
   * that read it. Occurrences have none.
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
 * Returns a document id for any name. It is percent-encoded as UTF-8. The names that Firestore reserves (`.`, `..` and `__…__`)
 * are encoded too.
 */
function documentId(name: string): string {
  const id = encodeURIComponent(name);
  if (/^\.{1,2}$/.test(id)) return id.replaceAll(".", "%2E");
  return /^__.*__$/.test(id) ? `%5F${id.slice(1)}` : id;
}

import { ConfigurationError } from "@leasehold/core";

/** The paths of the documents of elections, or of one election's occurrences. */
export class Paths {
  readonly #collection: string;

  /** @throws {ConfigurationError} unless it is the path of a collection. */
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

  /** Apart from the lease document, so that renewals never meet the transactions that depend on it. Occurrences have none. */
  fence(election: string): string {
    return `${this.record(election)}/fence/current`;
  }

  /** In a collection of their own, so that a TTL policy for them cannot reach a lease. */
  occurrences(election: string): Paths {
    return new Paths(`${this.record(election)}/ticks`);
  }
}

/** Returns a document id for any name: percent-encoded as UTF-8, with what Firestore reserves (`.`, `..` and `__…__`) encoded as well. */
function documentId(name: string): string {
  const id = encodeURIComponent(name);
  if (/^\.{1,2}$/.test(id)) return id.replaceAll(".", "%2E");
  return /^__.*__$/.test(id) ? `%5F${id.slice(1)}` : id;
}

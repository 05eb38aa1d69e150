import { ConfigurationError } from "@leasehold/core";

/** Where an election's documents are. */
export class Paths {
  readonly #collection: string;

  /** @throws {ConfigurationError} unless it is the path of a collection. */
  constructor(collection: string) {
    const segments = typeof collection === "string" ? collection.split("/") : [];
    // https://firebase.google.com/docs/firestore/quotas#collections_documents_and_fields
    if (segments.length % 2 === 0 || segments.some((segment) => segment === "" || /^(\.{1,2}|__.*__)$/.test(segment))) {
      throw new ConfigurationError(
        `collection is ${JSON.stringify(collection) ?? "missing"}; it must be the path of a collection, such as 'leasehold' or 'apps/billing/leases'.`,
      );
    }
    this.#collection = collection;
  }

  lease(election: string): string {
    return `${this.#collection}/${documentId(election)}`;
  }

  /** Apart from the lease document, so that renewals never meet the transactions that depend on it. */
  fence(election: string): string {
    return `${this.lease(election)}/fence/current`;
  }
}

/** A document id for any name: percent-encoded as UTF-8, with what Firestore reserves (`.`, `..` and `__…__`) encoded as well. */
function documentId(election: string): string {
  const id = encodeURIComponent(election);
  if (/^\.{1,2}$/.test(id)) return id.replaceAll(".", "%2E");
  return /^__.*__$/.test(id) ? `%5F${id.slice(1)}` : id;
}

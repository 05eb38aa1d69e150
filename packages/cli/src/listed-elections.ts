import { UnsupportedError, type LeaseSnapshot, type LeaseStore } from "@leasehold/core";

/** One election of a store. `foreign`: its record cannot be read as a lease, for the reason in `problem`. */
export type ListedElection = LeaseSnapshot | { readonly election: string; readonly state: "foreign"; readonly problem: string };

interface ListingStore {
  list(prefix?: string, options?: { readonly signal?: AbortSignal }): AsyncIterable<ListedElection>;
}

/**
 * Returns the elections of a store whose names begin with `prefix`, by name. Each is as of its own read.
 * @throws {UnsupportedError} if the store cannot list elections.
 */
export async function listedElections(
  store: LeaseStore,
  prefix: string | undefined,
  signal: AbortSignal,
): Promise<readonly ListedElection[]> {
  if (!canList(store)) throw new UnsupportedError(`${store.name} cannot list what it holds; name each one.`);
  const found: ListedElection[] = [];
  for await (const election of store.list(prefix, { signal })) found.push(election);
  return found.toSorted((one, other) => (one.election < other.election ? -1 : 1));
}

function canList(store: object): store is ListingStore {
  return "list" in store && typeof store.list === "function";
}

import type { LeaseStore, ListedElection } from "@leasehold/core";

/** Printed where a store has no election to show. */
export const NO_ELECTION = "there is no such election in this store.";

/**
 * Returns the elections of a store whose names begin with `prefix`, by name. Each is as of its own read.
 * @throws {UnsupportedError} if the store cannot list elections.
 */
export async function listedElections(
  store: LeaseStore,
  prefix: string | undefined,
  signal: AbortSignal,
): Promise<readonly ListedElection[]> {
  const found: ListedElection[] = [];
  for await (const election of store.list(prefix, { signal })) found.push(election);
  return found.toSorted((one, other) => (one.election < other.election ? -1 : 1));
}

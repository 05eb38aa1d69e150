import type { LeaseDatabase } from "./lease-database.ts";
import { withOwnVariables } from "./terraform.ts";

/**
 * Returns the variables by which a candidate's code finds its leases:
 * `new FirestoreLeaseStore({ firestore: new Firestore({ ...KEEPALIVE, databaseId: process.env.LEASE_DATABASE }) })`.
 * `ELECTION` is the first of its elections. `own` are those of the construct's user.
 * @throws {Error} for a name in `own` that the construct sets too, because the program would not find the construct's value.
 */
export function candidateEnvironment(
  leases: LeaseDatabase,
  [election = ""]: readonly string[],
  more: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const variables = { GOOGLE_CLOUD_PROJECT: leases.project, LEASE_DATABASE: leases.databaseId, ELECTION: election, ...more };
  return withOwnVariables(variables, own);
}

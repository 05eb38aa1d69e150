import type { LeaseDatabase } from "./lease-database.ts";

/**
 * The environment in which a candidate's code finds its leases:
 * `new FirestoreLeaseStore({ firestore: new Firestore({ databaseId: process.env.LEASE_DATABASE }) })`.
 */
export function candidateEnvironment(leases: LeaseDatabase): Record<string, string> {
  return { GOOGLE_CLOUD_PROJECT: leases.project, LEASE_DATABASE: leases.databaseId };
}

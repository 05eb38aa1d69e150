import type { LeaseDatabase } from "./lease-database.ts";

/**
 * What a candidate's code reads to find its leases:
 * `new FirestoreLeaseStore({ firestore: new Firestore({ databaseId: process.env.LEASE_DATABASE }) })`.
 */
export function candidateEnvironment(leases: LeaseDatabase): Record<string, string> {
  return { GOOGLE_CLOUD_PROJECT: leases.project, LEASE_DATABASE: leases.databaseId };
}

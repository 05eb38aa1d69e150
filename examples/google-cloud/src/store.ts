import { Firestore } from "@google-cloud/firestore";
import { FirestoreLeaseStore, KEEPALIVE } from "@leasehold/firestore";

/** Opens the database of these leases, in the project and with the credentials of the account that the program runs as. */
export function openStore(): FirestoreLeaseStore {
  return new FirestoreLeaseStore({ firestore: new Firestore({ ...KEEPALIVE, databaseId: setting("LEASE_DATABASE") }) });
}

/** Returns a variable that the constructs of @leasehold/infra-gcp set. */
export function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`Set ${name}: see README.md.`);
  return value;
}

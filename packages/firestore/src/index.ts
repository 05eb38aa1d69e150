export { FirestoreLeaseStore } from "./firestore-lease-store.ts";
export type { FirestoreOccurrenceStore } from "./firestore-occurrence-store.ts";
export type { FirestoreLeaseStoreOptions } from "./options.ts";

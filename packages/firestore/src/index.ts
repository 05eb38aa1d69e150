export { FirestoreLeaseStore, type FirestoreLeaseStoreOptions } from "./firestore-lease-store.ts";
export type { FirestoreOccurrenceStore } from "./firestore-occurrence-store.ts";

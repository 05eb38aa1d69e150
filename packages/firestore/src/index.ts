export { FirestoreLeaseStore, type FirestoreLeaseStoreOptions } from "./firestore-lease-store.ts";

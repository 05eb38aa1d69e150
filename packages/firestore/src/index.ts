export { FirestoreLeaseStore } from "./firestore-lease-store.ts";
export type { FirestoreOccurrenceStore } from "./firestore-occurrence-store.ts";
export { KEEPALIVE, type FirestoreLeaseStoreOptions } from "./options.ts";
export { fromUrl } from "./from-url.ts";

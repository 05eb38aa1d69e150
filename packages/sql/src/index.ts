export { SqlLeaseStore, type SqlLeaseStoreOptions } from "./sql-lease-store.ts";
export type { SqlOccurrenceStore } from "./sql-occurrence-store.ts";

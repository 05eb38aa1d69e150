export { SqlLeaseStore } from "./sql-lease-store.ts";
export type { SqlOccurrenceStore } from "./sql-occurrence-store.ts";
export type { SqlLeaseStoreOptions } from "./options.ts";
export { LEASE_FILE_SUFFIX } from "./sqlite/sqlite-files.ts";
export { networkFileWarning } from "./sqlite/network-file-system.ts";

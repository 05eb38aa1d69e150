export { SqlLeaseStore } from "./sql-lease-store.ts";
export type { SqlOccurrenceStore } from "./sql-occurrence-store.ts";
export type { SqlLeaseStoreOptions } from "./options.ts";
export { fromUrl } from "./from-url.ts";

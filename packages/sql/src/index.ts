export { SqlLeaseStore, type SqlLeaseStoreOptions } from "./sql-lease-store.ts";

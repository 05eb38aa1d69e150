export { SqlLeaseStore } from "./sql-lease-store.ts";
export type { SqlOccurrenceStore } from "./sql-occurrence-store.ts";
export type {
  MySqlHandle,
  MySqlOptions,
  PostgresHandle,
  PostgresOptions,
  SqliteHandle,
  SqliteOptions,
  SqlConnection,
  SqlLeaseStoreOptions,
  TableOptions,
} from "./options.ts";
export { isFenced, type FenceSql } from "./fence-sql.ts";
export { fromUrl } from "./from-url.ts";

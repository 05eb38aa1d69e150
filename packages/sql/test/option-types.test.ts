/** The types of the options: the compiler takes the handles of each driver, and refuses mistakes. */
import type { DatabaseSync } from "node:sqlite";
import type { PGlite } from "@electric-sql/pglite";
import type { neon, Pool as NeonPool } from "@neondatabase/serverless";
import type BetterSqlite from "better-sqlite3";
import type Libsql from "libsql";
import type { Pool as MariaDbPool } from "mariadb";
import type { Pool as MySqlCallbackPool } from "mysql2";
import type { Pool as MySqlPool } from "mysql2/promise";
import type { Pool as PgPool } from "pg";
import type { Sql } from "postgres";
import type { SqlLeaseStoreOptions } from "@leasehold/sql";
import { expectTypeOf, test } from "vitest";

test("the types of all drivers fit as they are", () => {
  expectTypeOf<
    { sqlite: DatabaseSync } | { sqlite: BetterSqlite.Database } | { sqlite: Libsql.Database }
  >().toExtend<SqlLeaseStoreOptions>();
  expectTypeOf<{ mysql: MySqlPool } | { mysql: MySqlCallbackPool } | { mysql: MariaDbPool }>().toExtend<SqlLeaseStoreOptions>();
  expectTypeOf<
    | { postgres: PgPool }
    | { postgres: NeonPool }
    | { postgres: Sql }
    | { postgres: PGlite }
    | { postgres: ReturnType<typeof neon> }
  >().toExtend<SqlLeaseStoreOptions>();
});

test("no database, two databases, an undefined URL and a handle of another database are compile errors", () => {
  expectTypeOf<object>().not.toExtend<SqlLeaseStoreOptions>();
  expectTypeOf<{ sqlite: string; mysql: string }>().not.toExtend<SqlLeaseStoreOptions>();
  expectTypeOf<{ postgres: string | undefined }>().not.toExtend<SqlLeaseStoreOptions>();
  expectTypeOf<{ postgres: MySqlPool }>().not.toExtend<SqlLeaseStoreOptions>();
  expectTypeOf<{ mysql: PgPool }>().not.toExtend<SqlLeaseStoreOptions>();
  expectTypeOf<{ sqlite: PgPool }>().not.toExtend<SqlLeaseStoreOptions>();
});

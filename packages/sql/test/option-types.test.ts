/** The types of the options: the compiler takes the handles of each driver, and refuses mistakes. */
import type { DatabaseSync } from "node:sqlite";
import type { PGlite, Transaction as PGliteTransaction } from "@electric-sql/pglite";
import type { neon, Pool as NeonPool } from "@neondatabase/serverless";
import type BetterSqlite from "better-sqlite3";
import type Libsql from "libsql";
import type { Connection as MariaDbConnection, Pool as MariaDbPool } from "mariadb";
import type { Connection as MySqlCallbackConnection, Pool as MySqlCallbackPool } from "mysql2";
import type { Connection as MySqlConnection, Pool as MySqlPool } from "mysql2/promise";
import type { Client, Pool as PgPool, PoolClient } from "pg";
import type { Sql, TransactionSql } from "postgres";
import { SqlLeaseStore, type PostgresOptions, type SqlLeaseStoreOptions } from "@leasehold/sql";
import { expect, expectTypeOf, test } from "vitest";

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

test("fence() takes a connection of the store's database alone, and no pool", () => {
  type Taken<Options extends SqlLeaseStoreOptions> = Parameters<SqlLeaseStore<Options>["fence"]>[1];
  type Postgres = Taken<{ postgres: PgPool }>;
  expectTypeOf<PoolClient | Client | TransactionSql | PGliteTransaction>().toExtend<Postgres>();
  expectTypeOf<PgPool>().not.toExtend<Postgres>();
  expectTypeOf<DatabaseSync>().not.toExtend<Postgres>();
  type MySql = Taken<{ mysql: string }>;
  expectTypeOf<MySqlConnection | MySqlCallbackConnection | MariaDbConnection>().toExtend<MySql>();
  expectTypeOf<PoolClient | MySqlPool | MariaDbPool>().not.toExtend<MySql>();
  type Sqlite = Taken<{ sqlite: BetterSqlite.Database }>;
  expectTypeOf<DatabaseSync | BetterSqlite.Database>().toExtend<Sqlite>();
  expectTypeOf<PoolClient>().not.toExtend<Sqlite>();
});

test("a store infers its database from the options, and is a store of any database", () => {
  const open = (url: string) => new SqlLeaseStore({ postgres: url, table: "leases" });
  expectTypeOf(open).returns.toExtend<SqlLeaseStore>();
  expectTypeOf<Parameters<ReturnType<typeof open>["fence"]>[1]>().toEqualTypeOf<
    Parameters<SqlLeaseStore<PostgresOptions>["fence"]>[1]
  >();
  // @ts-expect-error The option is misspelt.
  expect(() => new SqlLeaseStore({ postgres: "postgres://u@h/d", tabel: "leases" })).toThrow(/tabel/);
});

import { ConfigurationError } from "@leasehold/core";
import { checkOptions, type RecordLeaseStoreOptions } from "@leasehold/core/provider";

/**
 * An open SQLite database: a `DatabaseSync` of `node:sqlite`, or a handle with the same `exec` and `prepare`. Those of better-sqlite3 and
 * libsql are tested.
 */
export interface SqliteHandle {
  exec(sql: string): unknown;
  prepare(sql: string): unknown;
}

type Method = (...values: never[]) => unknown;

export interface TableOptions extends RecordLeaseStoreOptions {
  /**
   * The table of the leases: `leases`, or `ops.leases` with a schema of PostgreSQL or a database of MySQL, which must exist. Letters,
   * digits, `_` and `-`, without quotes: the store quotes it. The other tables are named after it: `ops.leases_fences` and
   * `ops.leases_occurrences`. Those of the default are `leasehold_fences` and `leasehold_occurrences`.
   *
   * All candidates of an election must give the same name.
   * @defaultValue `leasehold_leases`
   */
  readonly table?: string;
}

/** A pool of `mysql2`, with promises or callbacks, or a pool of MariaDB's connector (`mariadb`). */
export interface MySqlHandle {
  getConnection: Method;
  end: Method;
}

/**
 * A `Pool` of `pg` or of `@neondatabase/serverless`, the `sql` of postgres.js, a PGlite, or the function that `neon()` returned.
 */
export type PostgresHandle =
  | { connect: Method; end: Method; getConnection?: undefined }
  | { unsafe: Method; reserve: Method }
  | { exec: Method; listen: Method; transaction: Method }
  | { query: Method; transaction: Method };

/** Options of a store in a SQLite file. */
export interface SqliteOptions extends TableOptions {
  /**
   * A SQLite file on a local disk: its path, or the application's open handle on it. The file holds the fences. Leases and
   * occurrences are in a second file beside it, whose name ends with `-leasehold`.
   *
   * Give a path if the file belongs to Leasehold alone, or if the application opens it by `node:sqlite` too. Give the handle if
   * the application uses another SQLite library. Two libraries in one process destroy the data of a file that both open. The
   * store never closes a handle that it was given.
   */
  readonly sqlite: string | SqliteHandle;
  readonly mysql?: undefined;
  readonly postgres?: undefined;
}

/** Options of a store in MySQL or MariaDB. */
export interface MySqlOptions extends TableOptions {
  /** The application's pool, or a URL (`mysql://…`) from which the store opens its own pool of `mysql2`. */
  readonly mysql: string | MySqlHandle;
  readonly sqlite?: undefined;
  readonly postgres?: undefined;
}

/** Options of a store in PostgreSQL. */
export interface PostgresOptions extends TableOptions {
  /** The application's handle, or a URL (`postgres://…`) from which the store opens its own pool of `pg`. */
  readonly postgres: string | PostgresHandle;
  /**
   * How standbys are notified of releases. Give a second URL or handle, to the same database, if the one above goes through a pooler in
   * transaction mode, such as PgBouncer. With `false` standbys poll every `retryPeriodMs`.
   * @defaultValue by a connection of the handle
   */
  readonly listen?: string | PostgresHandle | false;
  readonly sqlite?: undefined;
  readonly mysql?: undefined;
}

/** The options of `SqlLeaseStore`: those of exactly one database. */
export type SqlLeaseStoreOptions = SqliteOptions | MySqlOptions | PostgresOptions;

/**
 * A connection of the store's database, on which a transaction was begun. `mysql2`, with promises or callbacks, and MariaDB's connector
 * have one. On PostgreSQL it is a client of `pg`, or the `sql` or the transaction that postgres.js or PGlite gave to your function.
 */
export type SqlConnection<Options extends SqlLeaseStoreOptions> = Options extends SqliteOptions
  ? SqliteHandle
  : Options extends MySqlOptions
    ? { query: Method; beginTransaction: Method }
    : { unsafe: Method } | { query: Method; totalCount?: undefined };

/** Makes each option that does not exist a compile error. */
export type NoOtherOptions<Options> = { readonly [Name in Exclude<keyof Options, keyof typeof OPTIONS>]?: never };

const OPTIONS = { sqlite: true, mysql: true, postgres: true, listen: true, table: true, clock: true } as const;
const DATABASES = ["sqlite", "mysql", "postgres"] as const;

/** Returns the name of the one database option that is set. @throws {ConfigurationError} unless exactly one is set. */
export function databaseOf(options: SqlLeaseStoreOptions): (typeof DATABASES)[number] {
  checkOptions("SqlLeaseStore", options, OPTIONS);
  if ((options as Partial<PostgresOptions>).listen !== undefined && options.postgres === undefined)
    throw new ConfigurationError("listen goes with postgres only: no other database notifies.");
  // Without this, a process whose variable is not set would elect a second leader in the default tables.
  if ("table" in options && options.table === undefined)
    throw new ConfigurationError("table is undefined. If it comes from the environment, set its variable.");
  const [database, ...others] = DATABASES.filter((name) => options[name] !== undefined);
  if (database && others.length === 0) return database;
  const missing = DATABASES.find((name) => name in options);
  const given = database
    ? `it was given ${[database, ...others].join(" and ")}.`
    : missing
      ? `${missing} is undefined. If it comes from the environment, set its variable.`
      : "it was given none.";
  throw new ConfigurationError(
    `SqlLeaseStore needs exactly one of sqlite (a path or a handle), mysql and postgres (a URL or a handle); ${given}`,
  );
}

/** Returns a sentence if an object that is no handle is an ORM or a query builder, which has one. Otherwise returns an empty text. */
export function objectionToOrm(given: unknown): string {
  const { transaction, $transaction, exec } = (given ?? {}) as Readonly<Record<string, unknown>>;
  const transacts = [transaction, $transaction].some((one) => typeof one === "function") && typeof exec !== "function";
  return transacts ? "This is an ORM or a query builder: give the store the pool below it, or a URL." : "";
}

/**
 * Checks that the drivers will read a URL as its author meant it.
 * @throws {ConfigurationError} The message shows no part of the URL, because that may hold a password.
 */
export function checkDatabaseUrl(option: "mysql" | "postgres" | "listen", url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  // An unencoded slash or hash ends the host early. The rest, with the `@` in it, then looks like a path.
  const cutShort = parsed && /@/.test(parsed.pathname + parsed.hash);
  if (parsed && !cutShort && isEncoded(url)) return url;
  throw new ConfigurationError(
    `${option} is a URL that cannot be read. It looks like ${option === "mysql" ? "mysql" : "postgres"}://user:password@host:port/database; percent-encode what is special in the user and the password: encodeURIComponent(password).`,
  );
}

/**
 * Returns whether each `%` begins an escape of two hexadecimal digits: the drivers decode the user, the password and the
 * database.
 */
function isEncoded(url: string): boolean {
  return !/%(?![0-9a-f]{2})/i.test(url);
}

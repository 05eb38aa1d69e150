import { ConfigurationError } from "@leasehold/core";
import type { SqliteHandle } from "./sqlite/sqlite-handle.ts";
import { checkOptions, type RecordLeaseStoreOptions } from "@leasehold/core/provider";

/** Exactly one of the databases. */
export interface SqlLeaseStoreOptions extends RecordLeaseStoreOptions {
  /**
   * A SQLite file on a local disk: its path, or the application's open handle on it (`DatabaseSync` of `node:sqlite`, or one of another
   * library that has `exec` and `prepare` alike). It holds the fences. Leases and occurrences are in a second file beside it, named with
   * `-leasehold` at the end.
   *
   * Give a path where the file is Leasehold's own, or where the application opens it by `node:sqlite` too. Give the handle where
   * the application uses another SQLite library: two libraries in one process destroy the data of a file that both open. The
   * store never closes a handle that it was given.
   */
  readonly sqlite?: string | SqliteHandle | undefined;
  /** A pool of `mysql2/promise`, or a URL (`mysql://…`) for a pool of the store's own. */
  readonly mysql?: unknown;
  /** A `Pool` of `pg`, or a URL (`postgres://…`) for a pool of the store's own. */
  readonly postgres?: unknown;
}

/** Each option, by name. */
const OPTIONS: Readonly<Record<keyof SqlLeaseStoreOptions, true>> = { sqlite: true, mysql: true, postgres: true, clock: true };
const DATABASES = ["sqlite", "mysql", "postgres"] as const;

/** Returns the one database that is given. @throws {ConfigurationError} unless it is exactly one. */
export function databaseOf(options: SqlLeaseStoreOptions): (typeof DATABASES)[number] {
  checkOptions("SqlLeaseStore", options, OPTIONS);
  const [database, ...others] = DATABASES.filter((name) => options[name] !== undefined);
  if (database && others.length === 0) return database;
  throw new ConfigurationError(
    `SqlLeaseStore needs exactly one of sqlite (a path), mysql and postgres (a pool or a URL); it was given ${database ? [database, ...others].join(" and ") : "none"}.`,
  );
}

/**
 * Checks that the drivers will read a URL as its author meant it.
 * @throws {ConfigurationError} that shows nothing of the URL: it may hold a password.
 */
export function checkDatabaseUrl(option: "mysql" | "postgres", url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  // An unencoded slash or hash ends the host early; what follows then looks like a path, with the `@` in it.
  const cutShort = parsed && /@/.test(parsed.pathname + parsed.hash);
  if (parsed && !cutShort && isEncoded(url)) return url;
  throw new ConfigurationError(
    `${option} is a URL that cannot be read. It looks like ${option}://user:password@host:port/database; percent-encode what is special in the user and the password: encodeURIComponent(password).`,
  );
}

/** The drivers decode the user, the password and the database. */
function isEncoded(url: string): boolean {
  return !/%(?![0-9a-f]{2})/i.test(url);
}

import { ConfigurationError } from "@leasehold/core";
import type { SqliteHandle } from "./sqlite/sqlite-handle.ts";
import { checkOptions, type RecordLeaseStoreOptions } from "@leasehold/core/provider";

/** The options of `SqlLeaseStore`. Give exactly one of `sqlite`, `mysql` and `postgres`. */
export interface SqlLeaseStoreOptions extends RecordLeaseStoreOptions {
  /**
   * A SQLite file on a local disk: its path, or the application's open handle on it. A handle is a `DatabaseSync` of
   * `node:sqlite`, or an object of another library with the same `exec` and `prepare`. The file holds the fences. Leases and
   * occurrences are in a second file beside it, whose name ends with `-leasehold`.
   *
   * Give a path if the file belongs to Leasehold alone, or if the application opens it by `node:sqlite` too. Give the handle if
   * the application uses another SQLite library. Two libraries in one process destroy the data of a file that both open. The
   * store never closes a handle that it was given.
   */
  readonly sqlite?: string | SqliteHandle | undefined;
  /** A pool of `mysql2/promise`, or a URL (`mysql://…`) from which the store opens its own pool. */
  readonly mysql?: unknown;
  /** A `Pool` of `pg`, or a URL (`postgres://…`) from which the store opens its own pool. */
  readonly postgres?: unknown;
}

/** The names of all options. */
const OPTIONS: Readonly<Record<keyof SqlLeaseStoreOptions, true>> = { sqlite: true, mysql: true, postgres: true, clock: true };
const DATABASES = ["sqlite", "mysql", "postgres"] as const;

/** Returns the name of the one database option that is set. @throws {ConfigurationError} unless exactly one is set. */
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
 * @throws {ConfigurationError} The message shows no part of the URL, because that may hold a password.
 */
export function checkDatabaseUrl(option: "mysql" | "postgres", url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  // An unencoded slash or hash ends the host early. The rest, with the `@` in it, then looks like a path.
  const cutShort = parsed && /@/.test(parsed.pathname + parsed.hash);
  if (parsed && !cutShort && isEncoded(url)) return url;
  throw new ConfigurationError(
    `${option} is a URL that cannot be read. It looks like ${option}://user:password@host:port/database; percent-encode what is special in the user and the password: encodeURIComponent(password).`,
  );
}

/**
 * Returns whether each `%` begins an escape of two hexadecimal digits: the drivers decode the user, the password and the
 * database.
 */
function isEncoded(url: string): boolean {
  return !/%(?![0-9a-f]{2})/i.test(url);
}

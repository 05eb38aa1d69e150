import { ConfigurationError } from "@leasehold/core";
import { checkDatabaseUrl, objectionToOrm } from "../options.ts";
import { isMariaDbConnection, isMariaDbPool, MariaDbConnection, MariaDbPool } from "./mariadb-connector.ts";
import type { MySqlConnection, MySqlPool } from "./mysql-driver.ts";

/** The handles that the option `mysql` takes, for its error message. */
const HANDLES =
  "mysql must be a URL such as mysql://user@host/database, or a handle: a pool of mysql2, or of MariaDB's connector (mariadb)";

/**
 * Returns a URL, or the pool of any driver. Recognizes a handle by what it can do, and not by its class.
 * @throws {ConfigurationError} The message shows no part of a text, because that may be a password.
 */
export function poolOrUrl(given: unknown): MySqlPool | string {
  if (typeof given === "string" && /^(mysql|mariadb):\/\//.test(given))
    return checkDatabaseUrl("mysql", given.replace(/^mariadb:/, "mysql:"));
  const objection = objectionTo(given);
  if (objection !== "") throw new ConfigurationError(`${HANDLES}. ${objection}`);
  if (isMariaDbPool(given)) return new MariaDbPool(given);
  if (typeof (given as Partial<MySqlPool> | undefined)?.getConnection === "function") return withPromises(given as MySqlPool);
  throw new ConfigurationError(`${HANDLES}.`);
}

/** Returns a connection, on which a transaction was begun, in the form that the store uses. */
export function connectionOf(connection: object): MySqlConnection {
  return isMariaDbConnection(connection) ? new MariaDbConnection(connection) : withPromises(connection as MySqlConnection);
}

function withPromises<T extends object>(either: T): T {
  const { promise } = either as { readonly promise?: () => T };
  return typeof promise === "function" ? promise.call(either) : either;
}

/** Returns a sentence that says what a handle is, and what it lacks. Empty if it is none of these. */
function objectionTo(given: unknown): string {
  const { query, beginTransaction, connect, getConnection, add, of, end, taskQueueSize, importFile } = (given ?? {}) as Readonly<
    Record<string, unknown>
  >;
  if (typeof getConnection === "function" && typeof add === "function" && typeof of === "function")
    return "This is a PoolCluster, whose connections may be of several databases: give the store the pool of one.";
  if (isMariaDbPool(given) && typeof end === "function" && end.length > 0)
    return "This is a pool of mariadb/callback: give the store a pool of mariadb itself, which has promises.";
  if (typeof taskQueueSize === "function" && typeof importFile !== "function")
    return "This is a pool of a mariadb before 3.2, which closes no connection without killing its statement: update mariadb.";
  if (typeof beginTransaction === "function") return "This is a single connection: give the store a pool.";
  const orm = objectionToOrm(given);
  if (orm === "" && typeof query === "function" && typeof connect === "function")
    return "This is a handle of PostgreSQL: use the option postgres.";
  return orm;
}

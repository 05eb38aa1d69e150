import { ConfigurationError } from "@leasehold/core";
import { checkDatabaseUrl, objectionToOrm } from "../options.ts";
import { isNeonHttp, NeonHttpPool } from "./neon-http.ts";
import { isPGlite, isPGliteDatabase, pgliteClient, PGlitePool } from "./pglite.ts";
import { isPostgresJs, isPostgresJsPool, postgresJsClient, PostgresJsPool } from "./postgres-js.ts";
import type { PostgresClient, PostgresPool } from "./postgres-driver.ts";

/** The handles that the options `postgres` and `listen` take, for their error messages. */
const HANDLES =
  "must be a URL such as postgres://user@host/database, or a handle: a Pool of pg or of @neondatabase/serverless, the sql of postgres.js, a PGlite, or what neon() returned";

/**
 * Returns a URL, or the pool of any driver. Recognizes a handle by what it can do, and not by its class.
 * @throws {ConfigurationError} The message shows no part of a text, because that may be a password.
 */
export function poolOrUrl(given: unknown, option: "postgres" | "listen" = "postgres"): PostgresPool | string {
  if (typeof given === "string" && /^postgres(ql)?:\/\//.test(given)) return checkDatabaseUrl(option, given);
  if (isPostgresJsPool(given)) return new PostgresJsPool(given);
  if (isPGliteDatabase(given)) return new PGlitePool(given);
  if (isNeonHttp(given)) return new NeonHttpPool(given);
  if (isPgPool(given) && !("processID" in given)) return given;
  throw new ConfigurationError(`${option} ${HANDLES}. ${objectionTo(given)}`.trim());
}

/** Returns the connection, on which a transaction was begun, in the form that the store uses. `undefined` if it is none. */
export function clientOf(connection: unknown): PostgresClient | undefined {
  if (isPostgresJs(connection)) return postgresJsClient(connection);
  if (isPGlite(connection)) return pgliteClient(connection);
  const { query } = (connection ?? {}) as Partial<PostgresClient>;
  return typeof query === "function" && typeof connection === "object" ? (connection as PostgresClient) : undefined;
}

function isPgPool(given: unknown): given is PostgresPool {
  const { connect, end } = (given ?? {}) as Partial<PostgresPool>;
  return typeof given === "object" && typeof connect === "function" && typeof end === "function" && !isMySqlPool(given);
}

function isMySqlPool(given: unknown): boolean {
  return typeof (given as { readonly getConnection?: unknown } | undefined)?.getConnection === "function";
}

/** Returns a sentence that says what a handle is, and what it lacks. Empty if it is none of these. */
function objectionTo(given: unknown): string {
  if (isPostgresJs(given)) return "This sql is that of one connection: give the store the sql that postgres() returned.";
  if (isPGlite(given)) return "This is one transaction of PGlite: give the store the PGlite itself.";
  if (isPgPool(given)) return "This is a single Client, which has one connection: give the store a Pool.";
  if (isMySqlPool(given)) return "This is a pool of MySQL or MariaDB: use the option mysql.";
  return objectionToOrm(given);
}

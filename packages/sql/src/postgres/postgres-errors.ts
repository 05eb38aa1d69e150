import { means, MISSING_DATABASE, MISSING_SCHEMA, OTHER_LAYOUT, type Meaning } from "../sql-errors.ts";

const FIND_KEY =
  " A table has not the key that store.migration gives it: call migrate(), which names the statement that makes it.";
const FIND_BLOCKER =
  " Find who holds the lock: SELECT pid, client_addr, xact_start FROM pg_stat_activity ORDER BY xact_start; end it by pg_terminate_backend and its pid.";

/**
 * The meanings of SQLSTATEs, or of their first two characters. A whole SQLSTATE has precedence.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  "40001": means("STORE_CONFLICT"),
  "40P01": means("STORE_CONFLICT"),
  // lock_not_available: `lock_timeout` has passed.
  "55P03": means("STORE_CONFLICT", FIND_BLOCKER),
  // The store, or a timeout of the server, cancelled the statement.
  "57014": means("STORE_TIMEOUT"),
  "42501": means("STORE_DENIED"),
  "42P01": means("STORE_MISSING"),
  // invalid_catalog_name, invalid_schema_name
  "3D000": means("STORE_MISSING", MISSING_DATABASE),
  "3F000": means("STORE_MISSING", MISSING_SCHEMA),
  // undefined_column
  "42703": means("STORE_REJECTED", OTHER_LAYOUT),
  // invalid_column_reference of ON CONFLICT: the table lacks the unique key.
  "42P10": means("STORE_REJECTED", FIND_KEY),
  // cardinality_violation of a subquery: a table has two rows of one election.
  "21000": means("STORE_REJECTED", FIND_KEY),
  // The server is a replica, or a primary that is being replaced.
  "25006": means("STORE_UNAVAILABLE"),
  "28": means("STORE_UNAUTHENTICATED"),
  "53": means("STORE_THROTTLED"),
  "22": means("STORE_REJECTED"),
  // A constraint that this package did not create.
  "23": means("STORE_REJECTED"),
  "42": means("STORE_REJECTED"),
};

/** Returns the meaning of an error of `pg`; `undefined` for an unknown code, or if the error does not come from the server. */
export function postgresMeaning(error: unknown): Meaning | undefined {
  const { code, severity } = (error ?? {}) as Partial<Record<"code" | "severity", unknown>>;
  if (typeof code !== "string" || severity === undefined) return undefined;
  return MEANINGS[code] ?? MEANINGS[code.slice(0, 2)];
}

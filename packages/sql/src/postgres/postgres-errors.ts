import type { StoreErrorCode } from "@leasehold/core";
import { MISSING_DATABASE, MISSING_SCHEMA, OTHER_LAYOUT, type Meaning } from "../sql-errors.ts";

/**
 * The meanings of SQLSTATEs, or of their first two characters. A whole SQLSTATE has precedence.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const CODES: Readonly<Record<string, StoreErrorCode>> = {
  "40001": "STORE_CONFLICT",
  "40P01": "STORE_CONFLICT",
  "42501": "STORE_DENIED",
  "42P01": "STORE_MISSING",
  // The server is a replica, or a primary that is being replaced.
  "25006": "STORE_UNAVAILABLE",
  "28": "STORE_UNAUTHENTICATED",
  "53": "STORE_THROTTLED",
  "22": "STORE_REJECTED",
  // A constraint that this package did not create.
  "23": "STORE_REJECTED",
  "42": "STORE_REJECTED",
};
/** invalid_catalog_name: an unknown database. */
const NO_DATABASE = "3D000";
/** invalid_schema_name: an unknown schema. */
const NO_SCHEMA = "3F000";
/** undefined_column */
const NO_COLUMN = "42703";
/** invalid_column_reference of ON CONFLICT: the table lacks the unique key. */
const NO_KEY = "42P10";
/** cardinality_violation of a subquery: a table has two rows of one election. */
const TWO_ROWS = "21000";
const FIND_KEY =
  " A table has not the key that store.migration gives it: call migrate(), which names the statement that makes it.";
/** lock_not_available: `lock_timeout` has passed. */
const LOCK_TIMEOUT = "55P03";
const FIND_BLOCKER =
  " Find who holds the lock: SELECT pid, client_addr, xact_start FROM pg_stat_activity ORDER BY xact_start; end it by pg_terminate_backend and its pid.";
/** The store, or a timeout of the server, cancelled the statement. */
const CANCELLED = "57014";

/** Returns the meaning of an error of `pg`; `undefined` for an unknown code, or if the error does not come from the server. */
export function postgresMeaning(error: unknown): Meaning | undefined {
  const { code, severity } = (error ?? {}) as Partial<Record<"code" | "severity", unknown>>;
  if (typeof code !== "string" || severity === undefined) return undefined;
  if (code === LOCK_TIMEOUT) return { code: "STORE_CONFLICT", notApplied: true, advice: FIND_BLOCKER };
  if (code === CANCELLED) return { code: "STORE_TIMEOUT", notApplied: false };
  if (code === NO_DATABASE) return { code: "STORE_MISSING", notApplied: true, advice: MISSING_DATABASE };
  if (code === NO_SCHEMA) return { code: "STORE_MISSING", notApplied: true, advice: MISSING_SCHEMA };
  if (code === NO_COLUMN) return { code: "STORE_REJECTED", notApplied: true, advice: OTHER_LAYOUT };
  if (code === NO_KEY || code === TWO_ROWS) return { code: "STORE_REJECTED", notApplied: true, advice: FIND_KEY };
  const known = CODES[code] ?? CODES[code.slice(0, 2)];
  return known && { code: known, notApplied: true };
}

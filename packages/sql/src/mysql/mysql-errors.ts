import { MISSING_DATABASE, OTHER_LAYOUT, type Meaning } from "../sql-errors.ts";

/**
 * The meanings of MySQL's and MariaDB's error numbers.
 * https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
 */
const MEANINGS: ReadonlyMap<number, Meaning> = new Map(
  (
    [
      // ER_LOCK_DEADLOCK, ER_LOCK_NOWAIT
      ["STORE_CONFLICT", [1213, 3572]],
      // ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR, ER_ACCOUNT_HAS_BEEN_LOCKED (MySQL's number, and MariaDB's)
      ["STORE_UNAUTHENTICATED", [1045, 1698, 3118, 4151]],
      // ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR
      ["STORE_DENIED", [1044, 1142, 1143, 1227]],
      // ER_NO_SUCH_TABLE
      ["STORE_MISSING", [1146]],
      // ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED
      ["STORE_THROTTLED", [1040, 1203, 1226]],
      // ER_OPTION_PREVENTS_STATEMENT, ER_READ_ONLY_MODE, ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: the server is a replica, or a
      // primary that is being replaced.
      ["STORE_UNAVAILABLE", [1290, 1836, 1792]],
      // ER_PARSE_ERROR, ER_DATA_TOO_LONG, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD
      ["STORE_REJECTED", [1064, 1366, 1406]],
    ] as const
  ).flatMap(([code, numbers]) => numbers.map((number) => [number, { code, notApplied: true }] as const)),
);
/** ER_SP_DOES_NOT_EXIST: the error for a savepoint that was made outside a transaction, or in one that has ended. */
export const NO_SAVEPOINT = 1305;
/** ER_LOCK_WAIT_TIMEOUT */
const LOCK_TIMEOUT = 1205;
/** Advice for an account without the PROCESS privilege, which the question for the lock's holder needs. */
const FIND_BLOCKER =
  " An administrator finds who holds the lock: SELECT * FROM information_schema.innodb_trx ORDER BY trx_started; end it by KILL and its trx_mysql_thread_id.";
/** ER_BAD_DB_ERROR: an unknown database. */
const NO_DATABASE = 1049;
/** ER_BAD_FIELD_ERROR: an unknown column. */
const NO_COLUMN = 1054;
/** ER_QUERY_INTERRUPTED: the store or an administrator cancelled the statement. */
const INTERRUPTED = 1317;

/** Returns the meaning of an error of `mysql2`; `undefined` for an unknown error. */
export function mysqlMeaning(error: unknown): Meaning | undefined {
  const { errno, code } = (error ?? {}) as { readonly errno?: unknown; readonly code?: unknown };
  if (errno === LOCK_TIMEOUT) return { code: "STORE_CONFLICT", notApplied: true, advice: FIND_BLOCKER };
  if (errno === INTERRUPTED) return { code: "STORE_TIMEOUT", notApplied: false };
  if (errno === NO_DATABASE) return { code: "STORE_MISSING", notApplied: true, advice: MISSING_DATABASE };
  if (errno === NO_COLUMN) return { code: "STORE_REJECTED", notApplied: true, advice: OTHER_LAYOUT };
  if (typeof errno === "number" && MEANINGS.has(errno)) return MEANINGS.get(errno);
  return code === "ETIMEDOUT" ? { code: "STORE_TIMEOUT", notApplied: false } : undefined;
}

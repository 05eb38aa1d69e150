import { means, MISSING_DATABASE, OTHER_LAYOUT, type Meaning } from "../sql-errors.ts";

/** Advice for an account without the PROCESS privilege, which the question for the lock's holder needs. */
const FIND_BLOCKER =
  " An administrator finds who holds the lock: SELECT * FROM information_schema.innodb_trx ORDER BY trx_started; end it by KILL and its trx_mysql_thread_id.";

/**
 * The meanings of MySQL's and MariaDB's error numbers.
 * https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
 */
const MEANINGS: ReadonlyArray<readonly [Meaning, readonly number[]]> = [
  // ER_LOCK_DEADLOCK, ER_LOCK_NOWAIT
  [means("STORE_CONFLICT"), [1213, 3572]],
  // ER_LOCK_WAIT_TIMEOUT
  [means("STORE_CONFLICT", FIND_BLOCKER), [1205]],
  // ER_QUERY_INTERRUPTED: the store or an administrator cancelled the statement.
  [means("STORE_TIMEOUT"), [1317]],
  // ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR, ER_ACCOUNT_HAS_BEEN_LOCKED (MySQL's number, and MariaDB's)
  [means("STORE_UNAUTHENTICATED"), [1045, 1698, 3118, 4151]],
  // ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR
  [means("STORE_DENIED"), [1044, 1142, 1143, 1227]],
  // ER_NO_SUCH_TABLE
  [means("STORE_MISSING"), [1146]],
  // ER_BAD_DB_ERROR
  [means("STORE_MISSING", MISSING_DATABASE), [1049]],
  // ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED
  [means("STORE_THROTTLED"), [1040, 1203, 1226]],
  // ER_OPTION_PREVENTS_STATEMENT, ER_READ_ONLY_MODE, ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: the server is a replica, or a
  // primary that is being replaced.
  [means("STORE_UNAVAILABLE"), [1290, 1836, 1792]],
  // ER_PARSE_ERROR, ER_DATA_TOO_LONG, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD
  [means("STORE_REJECTED"), [1064, 1366, 1406]],
  // ER_BAD_FIELD_ERROR
  [means("STORE_REJECTED", OTHER_LAYOUT), [1054]],
];
/** ER_SP_DOES_NOT_EXIST: the error for a savepoint that was made outside a transaction, or in one that has ended. */
export const NO_SAVEPOINT = 1305;

export function mysqlMeaning(error: unknown): Meaning | undefined {
  const { errno, code } = (error ?? {}) as { readonly errno?: unknown; readonly code?: unknown };
  const [known] = MEANINGS.find(([, numbers]) => numbers.includes(errno as number)) ?? [];
  return known ?? (code === "ETIMEDOUT" ? means("STORE_TIMEOUT") : undefined);
}

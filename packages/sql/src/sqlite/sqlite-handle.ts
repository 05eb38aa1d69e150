/** An open database: `DatabaseSync` of `node:sqlite`, or a handle of another library with the same functions. */
export interface SqliteHandle {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  close?(): unknown;
}

/** A prepared statement. Its parameters are positional. */
export interface SqliteStatement {
  get(...values: readonly SqliteValue[]): unknown;
  all(...values: readonly SqliteValue[]): readonly unknown[];
  run(...values: readonly SqliteValue[]): { readonly changes: number | bigint };
  /** Makes integers come as `bigint`; `node:sqlite`. */
  setReadBigInts?(enabled: boolean): unknown;
  /** The same of better-sqlite3 and libsql. */
  safeIntegers?(enabled: boolean): unknown;
}

export type SqliteValue = string | number | null;

const BUSY = 5;

/** The error of a call that has to wait until the application's transaction on the handle has ended. */
export class OwnTransactionError extends Error {
  readonly errcode: number = BUSY;

  constructor() {
    super("The application has a transaction under way on the handle that it gave as sqlite. Keep transactions short.");
  }
}

/**
 * Returns whether a transaction is under way: SQLite cannot begin one inside another. Node itself reports it only since 22.16.
 * @throws the library's error if the handle was closed, or is of a server that does not answer.
 */
export function inPresentTransaction(handle: SqliteHandle): boolean {
  try {
    handle.exec("BEGIN");
  } catch (error) {
    if (/within a transaction/.test(String(error))) return true;
    throw error;
  }
  handle.exec("ROLLBACK");
  return false;
}

/**
 * Makes a statement return integers as bigint. Otherwise a large number would be rounded, or would fail the read as a whole.
 * With a bigint, the check of the record finds it.
 */
export function withWholeIntegers(statement: SqliteStatement): SqliteStatement {
  statement.setReadBigInts?.(true);
  statement.safeIntegers?.(true);
  return statement;
}

/** Calls `act`. Meanwhile SQLite waits up to `waitMs` for the locks of others, which blocks the event loop. */
export function waitingForLocks<T>(handle: SqliteHandle, waitMs: number, act: () => T): T {
  const { timeout = 0 } = (handle.prepare("PRAGMA busy_timeout").get() ?? {}) as { readonly timeout?: number };
  handle.exec(`PRAGMA busy_timeout = ${waitMs}`);
  try {
    return act();
  } finally {
    handle.exec(`PRAGMA busy_timeout = ${timeout}`);
  }
}

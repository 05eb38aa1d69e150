/** An open database: `DatabaseSync` of `node:sqlite`, or the handle of another library that does the same by the same names. */
export interface SqliteHandle {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  close?(): unknown;
}

/** A prepared statement; parameters are positional. */
export interface SqliteStatement {
  get(...values: readonly SqliteValue[]): unknown;
  all(...values: readonly SqliteValue[]): readonly unknown[];
  run(...values: readonly SqliteValue[]): { readonly changes: number | bigint };
  setReadBigInts?(enabled: boolean): unknown;
}

export type SqliteValue = string | number | null;

/** Whether a transaction is under way. One cannot begin in another. Node itself tells it only from 22.16 on. */
export function inPresentTransaction(handle: SqliteHandle): boolean {
  try {
    handle.exec("BEGIN");
  } catch {
    return true;
  }
  handle.exec("ROLLBACK");
  return false;
}

/** Calls `act` while SQLite itself waits so long for the locks of others, which blocks the event loop. */
export function waitingForLocks<T>(handle: SqliteHandle, waitMs: number, act: () => T): T {
  const { timeout = 0 } = (handle.prepare("PRAGMA busy_timeout").get() ?? {}) as { readonly timeout?: number };
  handle.exec(`PRAGMA busy_timeout = ${waitMs}`);
  try {
    return act();
  } finally {
    handle.exec(`PRAGMA busy_timeout = ${timeout}`);
  }
}

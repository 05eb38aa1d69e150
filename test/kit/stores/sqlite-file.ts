import { DatabaseSync } from "node:sqlite";

/** Opens a file in a way that every supported Node has: the oldest has no option for the wait for locks. */
export function openFile(path: string, waitMs = 0): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA busy_timeout = ${waitMs}`);
  return database;
}

/** Calls `act` on a file that is open meanwhile. */
export function inFile<T>(path: string, act: (database: DatabaseSync) => T): T {
  const database = openFile(path);
  try {
    return act(database);
  } finally {
    database.close();
  }
}

/** Runs `act` between `BEGIN IMMEDIATE` and `COMMIT`. An error of `act` is thrown after the rollback. */
export async function inTransaction(database: DatabaseSync, act: () => Promise<void> | void): Promise<void> {
  database.exec("BEGIN IMMEDIATE");
  try {
    await act();
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

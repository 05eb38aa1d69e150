import { DatabaseSync } from "node:sqlite";

/** Opens a file as every Node that is supported can: the oldest has no option for how long to wait for locks. */
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

/** Runs `act` between `BEGIN IMMEDIATE` and `COMMIT`; what it throws comes after the rollback. */
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

import { join } from "node:path";
import { ConfigurationError } from "@leasehold/core";

const NAME = "lock";

/**
 * Locks a directory against all other processes and against other servers of this process. The lock ends when the returned
 * function is called, or when this process ends in any way. It is a lock of the operating system, on a file of SQLite.
 *
 * @throws {ConfigurationError} if another server has the lock.
 */
export async function lockDirectory(directory: string): Promise<() => void> {
  // Loaded only when needed, because Node warns about it where it is experimental.
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(join(directory, NAME), { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw error;
    throw new ConfigurationError(
      `stateDirectory ${directory} is in use by another process: each server needs a directory of its own. Is this server started twice?`,
    );
  }
  return () => database.close();
}

/** Recognises SQLITE_BUSY and its extended codes. */
function isBusy(error: unknown): boolean {
  const { errcode } = error as { readonly errcode?: unknown };
  return typeof errcode === "number" && (errcode & 0xff) === 5;
}

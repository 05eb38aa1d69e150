import { join } from "node:path";
import { ConfigurationError } from "@leasehold/core";

const NAME = "lock";

/**
 * Keeps every other process, and every other server of this one, out of a directory until the returned function is called or
 * this process ends, however it ends: the lock is the operating system's, on a file of SQLite's.
 *
 * @throws {ConfigurationError} where another one has it.
 */
export async function lockDirectory(directory: string): Promise<() => void> {
  // Loaded when it is needed: Node warns about it where it is experimental.
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

/** SQLITE_BUSY, and its extended codes. */
function isBusy(error: unknown): boolean {
  const { errcode } = error as { readonly errcode?: unknown };
  return typeof errcode === "number" && (errcode & 0xff) === 5;
}

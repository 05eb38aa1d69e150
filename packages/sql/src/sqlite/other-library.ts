import { readdirSync, readFileSync } from "node:fs";
import { ConfigurationError } from "@leasehold/core";
import { identityAt, identityOfDescriptor } from "./file-identity.ts";

/** Matches native modules with a SQLite of their own: better-sqlite3, sqlite3, libsql, Prisma's engine. */
const OTHER_SQLITE = /\/[^\n/]*(?:sqlite|libsql|query_engine)[^\n]*\.node$/im;

/** How often this module has each file open, by the file's identity. */
const openings = new Map<string, number>();

/** Counts one more opening of a file by this module. Returns a function to call once it is closed. */
export function countOpening(path: string): () => void {
  const identity = identityAt(path) ?? "";
  const add = (change: 1 | -1): void => void openings.set(identity, (openings.get(identity) ?? 0) + change);
  add(1);
  return () => add(-1);
}

/**
 * Refuses a file that this process has open already, if another SQLite library is loaded. POSIX locks belong to a process. So two
 * libraries in one process do not see each other's locks. The first one that closes the file drops the locks of both.
 *
 * Only Linux shows which libraries are loaded.
 * https://www.sqlite.org/howtocorrupt.html#_multiple_copies_of_sqlite_linked_into_the_same_application
 * @throws {ConfigurationError} for such a file.
 */
export function checkNoOtherLibrary(path: string): void {
  const library = otherLibrary();
  if (library === undefined) return;
  const identity = identityAt(path);
  if (identity === undefined || descriptorsOf(identity) <= (openings.get(identity) ?? 0)) return;
  throw new ConfigurationError(
    `sqlite is '${path}', which this process has open by another SQLite library (${library}). Two libraries do not see each other's locks, and destroy the data. Pass the application's own handle as sqlite, or a path that is Leasehold's alone.`,
  );
}

function otherLibrary(): string | undefined {
  try {
    return OTHER_SQLITE.exec(readFileSync("/proc/self/maps", "utf8"))?.[0].slice(1);
  } catch {
    return undefined;
  }
}

/** Returns how many descriptors of this process refer to the file. */
function descriptorsOf(identity: string): number {
  return readdirSync("/proc/self/fd").filter((descriptor) => {
    try {
      return identityOfDescriptor(Number(descriptor)) === identity;
    } catch {
      return false;
    }
  }).length;
}

import { readdirSync, readFileSync } from "node:fs";
import { ConfigurationError } from "@leasehold/core";
import { identityAt, identityOfDescriptor } from "./file-identity.ts";

/** Native modules that bring a SQLite of their own: better-sqlite3, sqlite3, libsql, Prisma's engine. */
const OTHER_SQLITE = /\/[^\n/]*(?:sqlite|libsql|query_engine)[^\n]*\.node$/im;

/** How often files were opened by this module, by the identity of each. */
const openings = new Map<string, number>();

/** Remembers that this module opens a file once more. */
export function countOpening(path: string): void {
  const identity = identityAt(path) ?? "";
  openings.set(identity, (openings.get(identity) ?? 0) + 1);
}

/**
 * Refuses a file that this process has open already, where another SQLite library is loaded. POSIX locks belong to a process. So
 * two libraries in one process do not see each other's locks, and the first one to close the file drops those of both.
 *
 * Only Linux tells what is loaded. https://www.sqlite.org/howtocorrupt.html#_multiple_copies_of_sqlite_linked_into_the_same_application
 * @throws {ConfigurationError}
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

/** Returns the file name of another SQLite library that is loaded; `undefined` where there is none, and where nobody can tell. */
function otherLibrary(): string | undefined {
  try {
    const [found] = OTHER_SQLITE.exec(readFileSync("/proc/self/maps", "utf8")) ?? [];
    return found?.slice(1);
  } catch {
    return undefined;
  }
}

/** Returns how many descriptors of this process are of the file. */
function descriptorsOf(identity: string): number {
  return readdirSync("/proc/self/fd").filter((descriptor) => {
    try {
      return identityOfDescriptor(Number(descriptor)) === identity;
    } catch {
      return false;
    }
  }).length;
}

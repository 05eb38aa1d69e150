import { existsSync, fstatSync, statSync } from "node:fs";
import { ConfigurationError } from "@leasehold/core";

/** Returns a name for the file at a path. It is the same for each path of the file. Returns `undefined` if there is no file. */
export function identityAt(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/** Returns the name of the file of an open descriptor; see {@link identityAt}. @throws if the descriptor is not open. */
export function identityOfDescriptor(descriptor: number): string {
  const { dev, ino } = fstatSync(descriptor, { bigint: true });
  return `${dev}:${ino}`;
}

/**
 * Refuses a file that has several names (hard links). The file of the leases, like SQLite's own journal, is beside one name. So
 * each name would have leases of its own, and a leader of its own.
 * @throws {ConfigurationError} if the file has more than one name.
 */
export function checkOnlyName(path: string): void {
  const { nlink = 1 } = statSync(path, { throwIfNoEntry: false }) ?? {};
  if (nlink <= 1) return;
  throw new ConfigurationError(
    `sqlite is '${path}', a file with ${nlink} names (hard links). SQLite and the leases keep files beside each name, so that each would have a leader of its own. Remove the other names: find them by find -samefile '${path}'.`,
  );
}

/** Refuses a libsql whose data is on a server. @throws {ConfigurationError} The leases beside a replica are those of one host. */
export function checkNotRemote(path: string): void {
  if (identityAt(path) !== undefined && !existsSync(`${path}-client_wal_index`)) return;
  throw new ConfigurationError(
    `sqlite is '${path}', which is no file of this machine alone: it is of a remote libsql, a replica of one, or was removed. Each host would have a leader of its own. Use a local file, or the option postgres or mysql.`,
  );
}

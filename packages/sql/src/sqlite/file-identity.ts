import { fstatSync, statSync } from "node:fs";
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

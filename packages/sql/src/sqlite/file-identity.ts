import { fstatSync, statSync } from "node:fs";

/** Names the file at a path, whatever its name; `undefined` where there is none. */
export function identityAt(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/** Names the file of an open descriptor, as {@link identityAt} does. @throws if it is not open. */
export function identityOfDescriptor(descriptor: number): string {
  const { dev, ino } = fstatSync(descriptor, { bigint: true });
  return `${dev}:${ino}`;
}

import { chmodSync, lstatSync, mkdirSync, rmSync } from "node:fs";
import { createConnection } from "node:net";
import { dirname } from "node:path";
import { ConfigurationError } from "@leasehold/core";

/**
 * Creates the folder of a Unix socket, which only its owner may enter. Removes an old socket that no process listens on.
 * @throws {ConfigurationError} if others may enter the folder. Some systems ignore the rights of the socket itself.
 */
export async function prepareSocket(path: string): Promise<void> {
  const folder = dirname(path);
  if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) chmodSync(folder, 0o700);
  const { mode } = lstatSync(folder);
  if ((mode & 0o077) !== 0) {
    const rights = (mode & 0o777).toString(8);
    throw new ConfigurationError(
      `--http unix:${path}: others may enter ${folder} (mode ${rights}). Give a folder of its own, with mode 700.`,
    );
  }
  if (isSocket(path) && !(await isListenedOn(path))) rmSync(path);
}

function isSocket(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true;
}

function isListenedOn(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = createConnection(path);
    connection.once("connect", () => {
      connection.destroy();
      resolve(true);
    });
    connection.once("error", () => resolve(false));
  });
}

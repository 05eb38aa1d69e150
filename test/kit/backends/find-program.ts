import { constants } from "node:fs";
import { access, readdir } from "node:fs/promises";
import { delimiter, join } from "node:path";

/**
 * Returns the path of the program `name`; `undefined` if it is nowhere. It searches the PATH, then the folders of administrators'
 * programs, then the newest of PostgreSQL's directories.
 */
export async function findProgram(name: string): Promise<string | undefined> {
  const onPath = (process.env["PATH"] ?? "").split(delimiter).filter((directory) => directory !== "");
  for (const directory of [...onPath, "/usr/local/sbin", "/usr/sbin", "/sbin", ...(await postgresDirectories())]) {
    const path = join(directory, name);
    if (await isExecutable(path)) return path;
  }
  return undefined;
}

async function postgresDirectories(): Promise<readonly string[]> {
  const root = "/usr/lib/postgresql";
  const versions = await readdir(root).catch(() => []);
  return versions.toSorted((one, other) => Number(other) - Number(one)).map((version) => join(root, version, "bin"));
}

async function isExecutable(path: string): Promise<boolean> {
  return await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

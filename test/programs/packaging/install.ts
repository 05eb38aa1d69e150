import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./command.ts";

/** Creates `folder`, the project of a user, and installs packages in it: by version, or by the path of a tarball. */
export async function install(folder: string, dependencies: Readonly<Record<string, string>>): Promise<void> {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "user", version: "1.0.0", private: true, dependencies }));
  await npmInstall(folder);
}

/** Installs the packages in the `package.json` of `folder`. */
export async function npmInstall(folder: string): Promise<void> {
  await run("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"], folder);
}

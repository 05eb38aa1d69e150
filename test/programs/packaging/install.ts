import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./command.ts";

/** Makes `folder`, a project of a user's, and installs packages in it: by version, or by the path of a tarball. */
export function install(folder: string, dependencies: Readonly<Record<string, string>>): void {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "user", version: "1.0.0", private: true, dependencies }));
  run("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"], folder);
}

import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import type { TestProject } from "vitest/node";

/** The beginnings of the names that AWS CDK and CDK Terrain give to the folders of a synthesis. */
const LEFT_BEHIND = /^(?:cdk\.out|cdktf)/;

/**
 * Makes the temporary folder of a project, its `TMPDIR`, and removes it after the run, because both CDKs never remove their folders.
 * @throws {Error} after the run if a test has left such a folder outside of it.
 */
export function setup({ config }: TestProject): () => void {
  const folder = config.env["TMPDIR"];
  if (folder === undefined) throw new Error(`The project ${config.name} has no TMPDIR in its env.`);
  const before = new Set(readdirSync(tmpdir()));
  mkdirSync(folder, { recursive: true });
  return () => {
    rmSync(folder, { recursive: true, force: true });
    const left = readdirSync(tmpdir()).filter((name) => LEFT_BEHIND.test(name) && !before.has(name));
    if (left.length > 0) throw new Error(`Tests have left ${left.length} folders in ${tmpdir()}: ${left.join(", ")}.`);
  };
}

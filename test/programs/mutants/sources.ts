import { globSync, readFileSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { mutate, type Mutant } from "./mutate.ts";
import { BLOCKS_OF_A_FILE } from "./reach.ts";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The packages that are published, because our tests have to prove their logic. The tests prove themselves. */
export const PACKAGES: readonly string[] = globSync("packages/*/package.json", { cwd: ROOT })
  .filter((manifest) => !isPrivate(manifest))
  .map((manifest) => basename(dirname(manifest)))
  .toSorted();
/** Tests, and parts of tests. A conformance case proves itself by the faulty stores that it has to catch. */
const LEFT_OUT = ["packages/core/src/testing/", "packages/conformance/src/cases/"];

export interface SourceFile {
  /** The path from the root of the repository. */
  readonly path: string;
  readonly source: string;
  /** The first number of its blocks. */
  readonly base: number;
  readonly mutants: readonly Mutant[];
}

/** Returns the sources of a package, by name. */
export async function readSources(packageName: string): Promise<SourceFile[]> {
  const paths: string[] = [];
  for await (const path of glob(`packages/${packageName}/src/**/*.ts`, { cwd: ROOT })) {
    if (!LEFT_OUT.some((folder) => path.startsWith(folder))) paths.push(path);
  }
  return await Promise.all(
    paths.toSorted().map(async (path, index) => {
      const source = await readFile(`${ROOT}${path}`, "utf8");
      return { path, source, base: (index + 1) * BLOCKS_OF_A_FILE, mutants: mutate(path, source) };
    }),
  );
}

function isPrivate(manifest: string): boolean {
  return (JSON.parse(readFileSync(`${ROOT}${manifest}`, "utf8")) as { readonly private?: boolean }).private === true;
}

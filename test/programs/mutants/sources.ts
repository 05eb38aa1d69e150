import { glob, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { mutate, type Mutant } from "./mutate.ts";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The packages whose logic is ours to prove. The tests prove themselves: a server for tests that is wrong fails them. */
export const PACKAGES = ["core", "azure-blob", "dynamodb", "firestore", "sql", "functions", "conformance"] as const;
/** Not what users run. */
const LEFT_OUT = ["packages/core/src/testing/"];
/** More blocks than a file has. */
const BLOCKS_OF_A_FILE = 10_000;

export interface SourceFile {
  /** From the root of the repository. */
  readonly path: string;
  readonly source: string;
  /** What the numbers of its blocks begin with. */
  readonly base: number;
  readonly mutants: readonly Mutant[];
}

/** The sources of a package, by name. */
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

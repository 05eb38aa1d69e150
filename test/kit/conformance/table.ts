import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { renderTable, type CaseResult } from "@leasehold/conformance";
import { inject } from "vitest";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder in which this run keeps the results of each store's cases. */
    readonly conformanceResults?: string;
  }
}

/** Keeps the results of one store's cases, for the table at the end of the run. */
export async function keepResults(subject: string, results: readonly CaseResult[]): Promise<void> {
  const file = `${subject.replace(/[^a-z0-9]+/gi, "-")}.json`;
  const folder = inject("conformanceResults");
  // Without the setup below, as in mutation tests, no table is printed.
  if (folder === undefined) return;
  await writeFile(join(folder, file), `${JSON.stringify(results, undefined, 2)}\n`);
}

/**
 * Creates a folder for this run, because other runs may exist at the same time. Returns a function that prints the table after
 * the run.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "conformance-"));
  project.provide("conformanceResults", folder);
  return async () => {
    await printTable(folder);
    await rm(folder, { recursive: true, force: true });
  };
}

/** Prints a table of every store that took part in a run, if any did. */
async function printTable(folder: string): Promise<void> {
  const files = await readdir(folder);
  if (files.length === 0) return;
  const results = await Promise.all(
    files.map(async (file) => JSON.parse(await readFile(join(folder, file), "utf8")) as CaseResult[]),
  );
  const table = renderTable(results.flat(), { width: process.stdout.columns ?? 160 });
  process.stdout.write(`\nConformance\n\n${table}\n`);
}

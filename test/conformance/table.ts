import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { renderTable, type CaseResult } from "@leasehold/conformance";

const FOLDER = fileURLToPath(new URL("../../.results/conformance", import.meta.url));

/** Keeps what became of one store's cases, for the table at the end of the run. */
export async function keepResults(subject: string, results: readonly CaseResult[]): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, `${subject.replace(/[^a-z0-9]+/gi, "-")}.json`), `${JSON.stringify(results, undefined, 2)}\n`);
}

/** Before a run: the results of the one before are forgotten. */
export async function setup(): Promise<void> {
  await rm(FOLDER, { recursive: true, force: true });
}

/** After a run: the table of every store that took part in it. */
export async function teardown(): Promise<void> {
  const files = (await readdir(FOLDER).catch(() => [])).filter((file) => file.endsWith(".json"));
  if (files.length === 0) return;
  const results = await Promise.all(
    files.map(async (file) => JSON.parse(await readFile(join(FOLDER, file), "utf8")) as CaseResult[]),
  );
  const table = renderTable(results.flat());
  await writeFile(join(FOLDER, "table.txt"), `${table}\n`);
  process.stdout.write(`\nConformance\n\n${table}\n`);
}

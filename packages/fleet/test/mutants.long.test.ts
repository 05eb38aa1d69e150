import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { MUTANTS } from "./world/mutants.ts";

const WORLD = new URL("./world/", import.meta.url);
/** The schedules in which each mutant has to be caught. */
const SEEDS = 600;

test.for(MUTANTS.filter(({ isRare }) => isRare !== true))(
  "the judge notices $name: $bug",
  { timeout: 1_800_000 },
  async ({ name }) => {
    const parts = ["patch-sources.ts", "main.ts"].map((file) => fileURLToPath(new URL(file, WORLD)));
    const flags = ["--disable-warning=LeaseholdWarning", "--conditions=@leasehold/source", "--import", parts[0]!];
    const played = await promisify(execFile)(process.execPath, [...flags, parts[1]!, "--seeds", String(SEEDS)], {
      env: { ...process.env, LEASEHOLD_MUTANT: name },
    }).then(
      () => "no problem",
      (error: unknown) => (error as { stdout: string }).stdout,
    );
    expect(played).toMatch(/^seed \d+: /);
  },
);

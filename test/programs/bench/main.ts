import { parseArgs } from "node:util";
import { fleet } from "./fleet.ts";
import { peers } from "./peers.ts";
import type { Section } from "./section.ts";
import { stores } from "./stores.ts";
import { table } from "./table.ts";
import { threeRedis } from "./three-redis.ts";

const SECTIONS: readonly Section[] = [stores, peers, threeRedis, fleet];

const { values, positionals } = readArguments();
if (values.help) print(help());
else {
  for (const section of chosen(positionals)) await show(section, values.json);
  // All output is written. Node's own cleanup has been seen to hang after this, with clients of other libraries closed.
  process.exit();
}

/** Measures one section. A failure is printed, and the other sections are still measured. */
async function show({ name, about, meaning, takesS, measure }: Section, json: boolean): Promise<void> {
  if (!json) print(`${name}: ${about}\n  (about ${takesS} s)`);
  try {
    const results = await measure();
    if (json) for (const result of results) print(JSON.stringify({ section: name, ...result }));
    else print(`${table(results)}\n  What the numbers mean: ${meaning}\n`);
  } catch (error) {
    process.stderr.write(`The section '${name}' failed: ${(error as Error).stack ?? String(error)}\n\n`);
    process.exitCode = 1;
  }
}

function chosen(names: readonly string[]): readonly Section[] {
  if (names.length === 0) return SECTIONS;
  return names.map((name) => SECTIONS.find((section) => section.name === name) ?? fail(`There is no section '${name}'.`));
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { json: { type: "boolean", default: false }, help: { type: "boolean", short: "h", default: false } },
    });
  } catch (error) {
    return fail((error as Error).message);
  }
}

function help(): string {
  const width = Math.max(...SECTIONS.map(({ name }) => name.length));
  const sections = SECTIONS.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`);
  return [
    "npm run bench -- [section ...] [--json]",
    "",
    "Sections (default: all):",
    ...sections,
    "",
    "--json prints one object for each result.",
  ].join("\n");
}

function fail(message: string): never {
  process.stderr.write(`${message}\n\n${help()}\n`);
  process.exit(2);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

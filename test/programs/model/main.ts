/** `npm run model`: see README.md beside this file. */
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { commandLine } from "../command-line.ts";
import { account } from "./account.ts";
import type { Check } from "./check.ts";
import { checks } from "./checks.ts";
import { readCommandLine, USAGE, type CommandLine } from "./command-line.ts";
import { findPrograms, type Programs } from "./programs.ts";
import { Table } from "./table.ts";
import { search, type Found } from "./search.ts";

/** The most searches at once: each takes a core, and up to a gigabyte. */
const AT_ONCE = Math.min(availableParallelism(), 2);

const told = commandLine(readCommandLine, USAGE);
if (told) process.exitCode = await main(told);

async function main({ full }: CommandLine): Promise<number> {
  let programs: Programs;
  try {
    programs = await findPrograms();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return 1;
  }
  const folder = await mkdtemp(join(tmpdir(), "leasehold-model-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  for (const [signal, exitCode] of [["SIGINT", 130] as const, ["SIGTERM", 143] as const]) {
    process.once(signal, () => {
      remove();
      process.exit(exitCode);
    });
  }
  try {
    return await report(checks(full), programs, folder);
  } finally {
    remove();
  }
}

/** Runs the checks, a few at once, and prints each result in the order of the checks. Returns the exit code. */
async function report(all: readonly Check[], programs: Programs, folder: string): Promise<number> {
  const startMs = performance.now();
  const table = new Table(all);
  print(table.head);
  const runs: string[] = [];
  const wrong: string[] = [];
  for (const [nth, finding] of startAll(all, programs, folder).entries()) {
    const check = all[nth]!;
    const found = await finding;
    const problem = found instanceof Error ? found.message : problemOf(check, found);
    print(table.row(check, found, problem === undefined));
    if (problem !== undefined) {
      wrong.push(check.name);
      print(problem.replace(/^/gm, "    "));
    } else if (check.tells === true && !(found instanceof Error)) {
      runs.push(`\n${check.name}, how it comes to this:`, ...account(found.run));
    }
  }
  for (const line of runs) print(line);
  print(`\n${((performance.now() - startMs) / 1_000).toFixed(0)} s`);
  for (const name of wrong) print(`not as expected: ${name}`);
  print(`${all.length - wrong.length} checks as expected, ${wrong.length} not`);
  return wrong.length === 0 ? 0 : 1;
}

/** Starts all checks. Returns a promise for the result of each; none of them rejects. */
function startAll(all: readonly Check[], programs: Programs, folder: string): ReadonlyArray<Promise<Found | Error>> {
  const findings = all.map(() => Promise.withResolvers<Found | Error>());
  const waiting = [...all.entries()];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [nth, check] = next;
      const found = await search(check, programs, join(folder, String(nth))).catch((error: unknown) => error as Error);
      findings[nth]?.resolve(found);
    }
  };
  for (let worker = 0; worker < AT_ONCE; worker += 1) void work();
  return findings.map(({ promise }) => promise);
}

/** Returns the difference from the expected result; undefined if there is none. */
function problemOf({ violates, shows = [] }: Check, { violated, complete, shown, run }: Found): string | undefined {
  if (violated !== violates) {
    return violated === undefined ? "No violation was found." : [`Violated: ${violated}`, ...account(run)].join("\n");
  }
  if (!complete) return "The search was cut off.";
  const never = shows.filter((what) => !shown.has(what));
  return never.length === 0 ? undefined : `Never met: ${never.join("; ")}`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

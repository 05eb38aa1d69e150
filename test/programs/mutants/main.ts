/** `npm run mutants`: see {@link USAGE}. */
import { commandLine } from "../command-line.ts";
import { readCommandLine, USAGE, type CommandLine } from "./command-line.ts";
import { UnfitTests, type Fate } from "./lane.ts";
import type { Mutant } from "./mutate.ts";
import { runPackage, type Progress } from "./package-run.ts";

/** The number of mutants between two lines of progress. */
const PROGRESS_EVERY = 10;

const told = commandLine(readCommandLine, USAGE);
if (told)
  await judge(told).catch((error: unknown) => {
    if (!(error instanceof UnfitTests)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });

async function judge({ packages, least, ...run }: CommandLine): Promise<void> {
  print(`seed ${run.seed}\n`);
  const total = { tried: 0, killed: 0 };
  for (const packageName of packages) {
    const { mutants, fates } = await runPackage(packageName, { ...run, onFate: show });
    const count = (fate: Fate): number => [...fates.values()].filter((one) => one === fate).length;
    const killed = count("killed") + count("timed out");
    total.tried += fates.size;
    total.killed += killed;
    const score = `${killed} of ${fates.size} killed, ${count("timed out")} of them by a time limit: ${percent(killed, fates.size)}`;
    print(`${packageName}: of ${mutants} mutants ${fates.size} tried; ${score}\n`);
  }
  print(`${total.killed} of ${total.tried} killed: ${percent(total.killed, total.tried)}\n`);
  const isEnough = total.killed * 100 >= least * total.tried;
  if (!isEnough) process.stderr.write(`Fewer than ${least}% were killed.\n`);
  // Vitest sets the exit code of a failure for each mutant, so set it here.
  process.exitCode = isEnough ? 0 : 1;
}

function show({ file, line, from, to }: Mutant, fate: Fate, { packageName, tried, drawn }: Progress): void {
  if (fate === "survived") print(`survived: ${file}:${line}\n  ${from}\n  ${to}\n`);
  if (tried % PROGRESS_EVERY === 0) print(`${packageName}: ${tried} of ${drawn}\n`);
}

function percent(part: number, of: number): string {
  return of === 0 ? "-" : `${((100 * part) / of).toFixed(1)}%`;
}

function print(text: string): void {
  process.stdout.write(text);
}

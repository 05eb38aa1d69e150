/** `npm run mutants`: see {@link USAGE}. */
import { readCommandLine, USAGE, type CommandLine } from "./command-line.ts";
import type { Fate } from "./lane.ts";
import type { Mutant } from "./mutate.ts";
import { runPackage, type PackageResult, type Progress } from "./package-run.ts";

/** So many mutants from one sign of life to the next. */
const PROGRESS_EVERY = 50;

let commandLine: CommandLine | undefined;
try {
  commandLine = readCommandLine(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 2;
}
if (commandLine?.help) print(USAGE);
else if (commandLine) await judge(commandLine);

async function judge({ packages, least, ...run }: CommandLine): Promise<void> {
  print(`seed ${run.seed}\n`);
  const results: PackageResult[] = [];
  for (const packageName of packages) results.push(await runPackage(packageName, { ...run, onFate: show }));
  const total = { of: 0, killed: 0 };
  print(
    "\n| package | mutants | tried | killed | timed out | survived | score |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
  );
  for (const { packageName, mutants, fates } of results) {
    const count = (fate: Fate): number => [...fates.values()].filter((one) => one === fate).length;
    const survived = count("survived");
    const killed = fates.size - survived;
    total.of += fates.size;
    total.killed += killed;
    const cells = [packageName, mutants, fates.size, count("killed"), count("timed out"), survived, percent(killed, fates.size)];
    print(`| ${cells.join(" | ")} |\n`);
  }
  const score = percent(total.killed, total.of);
  print(`\n${total.killed} of ${total.of} killed: ${score}\n`);
  if (total.killed * 100 >= least * total.of) return;
  process.stderr.write(`Fewer than ${least}% were killed.\n`);
  process.exitCode = 1;
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

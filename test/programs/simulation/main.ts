/** `npm run simulate`: see {@link USAGE}. */
import { warmUp } from "@leasehold/test-kit/simulated/dynamodb-service";
import { commandLine } from "../command-line.ts";
import { readCommandLine, USAGE, type CommandLine } from "./command-line.ts";
import { huntMutants, printMutants } from "./mutants/hunt.ts";
import { drawPlan } from "./plan.ts";
import { PLAYED_ALONE, type Alone } from "./seeds.ts";
import { shrink } from "./shrink.ts";
import { simulate } from "./simulation.ts";
import { printTally } from "./summary.ts";
import { runOnThreads } from "./threads.ts";
import { printTimeline } from "./timeline.ts";

/** The number of broken runs after which more would show nothing new. */
const ENOUGH_VIOLATIONS = 20;
const PROGRESS_EVERY_MS = 10_000;

const told = commandLine(readCommandLine, USAGE);
if (told?.mutants) await seeMutants(told);
else if (told) await seeRuns(told);

async function seeRuns({ runs, seed, stores, alone, threads, json }: CommandLine): Promise<void> {
  const startMs = performance.now();
  let toldMs = startMs;
  let isInterrupted = false;
  process.once("SIGINT", () => (isInterrupted = true));
  const tally = await runOnThreads({ first: seed, count: runs, stores, alone }, threads, (sum) => {
    if (!json && performance.now() - toldMs > PROGRESS_EVERY_MS) {
      toldMs = performance.now();
      print(`${sum.runs.toLocaleString("en-US")} runs, ${sum.violations.length} violations\n`);
    }
    return isInterrupted || sum.violations.length >= ENOUGH_VIOLATIONS ? "enough" : "go on";
  });
  const seconds = (performance.now() - startMs) / 1_000;
  print(json ? `${JSON.stringify({ ...tally, seconds })}\n` : printTally(tally, seconds));
  if (tally.violations.length === 0) return;
  process.exitCode = 1;
  if (json) return;
  const first = tally.violations[0]!.seed;
  if (alone) await showAlone(first, alone);
  else await showFirst(first, stores);
}

async function showAlone(seed: number, alone: Alone): Promise<void> {
  const { history } = await PLAYED_ALONE[alone](seed, { history: true });
  print(`\n${history.join("\n")}\n\nto see it again: npm run simulate -- --${alone} --runs 1 --seed ${seed}\n`);
}

/** Repeats a run that broke something, made as small as possible. */
async function showFirst(seed: number, stores: CommandLine["stores"]): Promise<void> {
  await warmUp();
  print(`\nthe run with seed ${seed}, without all that it does not need:\n\n`);
  const smallest = await shrink(drawPlan(seed, stores));
  print(`${printTimeline(await simulate(smallest, { history: true }))}\n`);
  const store = stores ? ` --store '${stores[0]}'` : "";
  print(`\nto see it again: npm run simulate -- --runs 1 --seed ${seed}${store}\n`);
}

async function seeMutants({ runs, seed, threads, json }: CommandLine): Promise<void> {
  const hunts = await huntMutants({ first: seed, count: runs }, threads);
  print(json ? `${JSON.stringify(hunts)}\n` : printMutants(hunts));
  if (hunts.some(({ invariant }) => invariant === undefined)) process.exitCode = 1;
}

function print(text: string): void {
  process.stdout.write(text);
}

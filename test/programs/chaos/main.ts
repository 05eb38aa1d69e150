/** `npm run chaos`: see `command-line.ts` for its arguments, and `episode.ts` for its work. */
import { Interrupted, onInterruption } from "@leasehold/test-kit/processes/interruption";
import { STORE_NAMES, testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import { figuresOf, judge, problemsOf } from "./check.ts";
import { commandLine } from "../command-line.ts";
import { readCommandLine, USAGE, type CommandLine } from "./command-line.ts";
import { SeededRandom } from "@leasehold/core/testing";
import { CREW_SIZE } from "./processes.ts";
import { playEpisode } from "./episode.ts";
import { keepHistory } from "./keep-history.ts";
import { Tally } from "./tally.ts";

/** How many rounds an election lasts. Then the next one begins with new workers. */
const ROUNDS = 8;

const told = commandLine(readCommandLine, USAGE);
if (told) process.exitCode = await main(told);

async function main({ store, minutes, seed = Math.floor(Math.random() * 2 ** 32) }: CommandLine): Promise<number> {
  const stores = await installed(store);
  if (stores.length === 0) return 2;
  const interrupted = interruption();
  say(`seed ${seed}`);
  const tallies: Tally[] = [];
  let isWell = true;
  try {
    for (const name of stores) {
      const tally = new Tally(name);
      tallies.push(tally);
      isWell = (await play(tally, { minutes, seed, interrupted })) && isWell;
    }
  } catch (error) {
    const { message, stack = message } = error as Error;
    process.stderr.write(`${error instanceof Interrupted ? message : stack}\nThe seed was ${seed}.\n`);
    // The processes of an election end with this process, which does not wait for them.
    setImmediate(() => process.exit());
    return error instanceof Interrupted ? error.exitCode : 1;
  }
  for (const tally of tallies) say(`\n${String(tally)}`);
  say(isWell ? "\nAll is well." : `\nSomething went wrong, see above. The seed was ${seed}.`);
  return isWell ? 0 : 1;
}

/** Rejects when a signal ends this process. */
function interruption(): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  onInterruption("It", reject);
  return promise;
}

interface PlayOptions {
  readonly minutes: number;
  /** The seed of the first election. */
  readonly seed: number;
  readonly interrupted: Promise<never>;
}

/** Plays one election after another, until the time is up. Returns whether there was no violation. */
async function play(tally: Tally, { minutes, seed: firstSeed, interrupted }: PlayOptions): Promise<boolean> {
  const { store } = tally;
  const service = await (await testStore(store)).start(CREW_SIZE);
  await using _ = service;
  say(`\n${store}: ${service.place}`);
  const endMs = performance.now() + minutes * 60_000;
  const timeUp = AbortSignal.timeout(minutes * 60_000);
  const dice = new SeededRandom(firstSeed);
  let isWell = true;
  for (let seed = firstSeed; performance.now() < endMs; seed = dice.seed()) {
    const log = await Promise.race([playEpisode({ store, seed, rounds: ROUNDS, service, signal: timeUp }), interrupted]);
    const verdict = judge(log);
    const figures = figuresOf(log);
    tally.add(figures, verdict, log.leaderBackMs);
    const { rounds, leaderChanges, writes, longestReturnMs } = figures;
    say(
      `  election ${seed}: ${rounds} rounds, ${leaderChanges} leader changes, ${writes} writes, back after ${longestReturnMs.toFixed(0)} ms at most`,
    );
    const problems = problemsOf(verdict);
    if (problems.length === 0) continue;
    isWell = false;
    for (const problem of problems) say(`    WRONG: ${problem}`);
    say(`    its history: ${await keepHistory(log)}`);
  }
  return isWell;
}

/** Returns the requested store, or all, as far as this machine has them installed. */
async function installed(wanted: StoreName | undefined): Promise<readonly StoreName[]> {
  const stores: StoreName[] = [];
  for (const name of wanted ? [wanted] : STORE_NAMES) {
    const missing = await (await testStore(name)).missing();
    if (missing === undefined) stores.push(name);
    else process.stderr.write(`SKIPPED: ${missing}\n`);
  }
  return stores;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

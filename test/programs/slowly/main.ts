/**
 * `npm run slowly -- <command>`: runs a command on a machine at about a quarter of its speed. Two busy loops a core run beside it.
 * Now and then one of its Vitest workers is stopped for a second. The exit code is the command's.
 */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { childrenOf, commandLineOf, signalAll } from "@leasehold/test-kit/processes/process-tree";

const LOOPS_PER_CORE = 2;
/** The longest wait between two stops of a worker. */
const LONGEST_GAP_MS = 10_000;
const STOP_MS = 1_000;

const [program, ...args] = process.argv.slice(2);
if (program === undefined) {
  process.stderr.write("npm run slowly -- <command>: which command?\n");
  process.exit(2);
}

const loops = Array.from({ length: LOOPS_PER_CORE * availableParallelism() }, () =>
  spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
);
process.once("exit", () => loops.forEach((loop) => loop.kill("SIGKILL")));
const command = spawn(program, args, { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void command.kill(signal));
command.once("error", ({ message }) => {
  process.stderr.write(`${message}\n`);
  process.exit(127);
});
command.once("exit", (code) => process.exit(code ?? 1));

for (;;) {
  await delay(Math.random() * LONGEST_GAP_MS);
  const workers = await workersBelow(command.pid!);
  const worker = workers[Math.floor(Math.random() * workers.length)];
  if (worker === undefined) continue;
  signalAll([worker], "SIGSTOP");
  await delay(STOP_MS);
  signalAll([worker], "SIGCONT");
}

/** The Vitest workers below a process. No test stops them, so that going on with them disturbs none. */
async function workersBelow(pid: number): Promise<readonly number[]> {
  for (let generation = await childrenOf([pid]); generation.length > 0; generation = await childrenOf(generation)) {
    const workers = generation.filter((each) => commandLineOf(each).includes("vitest/dist/workers"));
    if (workers.length > 0) return workers;
  }
  return [];
}

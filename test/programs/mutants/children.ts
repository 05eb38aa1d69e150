import { ChildProcess } from "node:child_process";

interface SpawnOptions {
  readonly args: string[];
}

type Spawn = (this: unknown, options: SpawnOptions) => unknown;

/** The key of Node's original method. */
const ORIGINAL = Symbol.for("leasehold.mutants.spawn");

/** `spawn`, `fork` and `execFile` all use this method. Node has no type for it. */
const processes = ChildProcess.prototype as unknown as { spawn: Spawn; [ORIGINAL]?: Spawn };

/**
 * Makes every Node process that this one starts load `program` first, also through a shell. Replaces the program of an earlier
 * call.
 */
export function preloadInChildren(program: string): void {
  processes[ORIGINAL] ??= processes.spawn;
  const spawn = processes[ORIGINAL];
  processes.spawn = function (options) {
    const isDone = options.args.includes(program);
    const preloading = options.args.flatMap((arg) => (arg === process.execPath ? [arg, "--import", program] : [arg]));
    return spawn.call(this, isDone ? options : { ...options, args: preloading });
  };
}

/** Returns the same program with a `report`, the file to which it writes the blocks that it enters. */
export function reportingTo(report: string, program: string): string {
  const url = new URL(program);
  url.searchParams.set("report", report);
  return url.href;
}

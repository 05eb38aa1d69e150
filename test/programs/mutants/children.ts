import { ChildProcess } from "node:child_process";

interface SpawnOptions {
  readonly args: string[];
}

type Spawn = (this: unknown, options: SpawnOptions) => unknown;

/** Where the method of Node's own is kept. */
const ORIGINAL = Symbol.for("leasehold.mutants.spawn");

/** `spawn`, `fork` and `execFile` all come down to this; Node has no type for it. */
const processes = ChildProcess.prototype as unknown as { spawn: Spawn; [ORIGINAL]?: Spawn };

/** Has every Node process that this one starts, be it by way of a shell, load `program` first, and no other one that was named before. */
export function preloadInChildren(program: string): void {
  processes[ORIGINAL] ??= processes.spawn;
  const spawn = processes[ORIGINAL];
  processes.spawn = function (options) {
    const isDone = options.args.includes(program);
    const preloading = options.args.flatMap((arg) => (arg === process.execPath ? [arg, "--import", program] : [arg]));
    return spawn.call(this, isDone ? options : { ...options, args: preloading });
  };
}

/** The same program, which writes the blocks that it enters to the file `report`. */
export function reportingTo(report: string, program: string): string {
  const url = new URL(program);
  url.searchParams.set("report", report);
  return url.href;
}

import { ChildProcess } from "node:child_process";

interface SpawnOptions {
  readonly args: string[];
}

/** `spawn`, `fork` and `execFile` all come down to this; Node has no type for it. */
const processes = ChildProcess.prototype as unknown as { spawn: (this: unknown, options: SpawnOptions) => unknown };

/** Has every Node process that this one starts, be it by way of a shell, load `program` first. */
export function preloadInChildren(program: string): void {
  const spawn = processes.spawn;
  processes.spawn = function (options) {
    const isDone = options.args.includes(program);
    const preloading = options.args.flatMap((arg) => (arg === process.execPath ? [arg, "--import", program] : [arg]));
    return spawn.call(this, isDone ? options : { ...options, args: preloading });
  };
}

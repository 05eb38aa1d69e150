import { spawn, type ChildProcess } from "node:child_process";
import { constants } from "node:os";
import { EXIT } from "../exit-codes.ts";
import { startTicksOf, type GroupLeader } from "./process-table.ts";

/** The program to run, with its resolved path. */
export interface Program {
  readonly path: string;
  /** The name as the user gave it, and the arguments. */
  readonly command: readonly [string, ...string[]];
  readonly env: NodeJS.ProcessEnv;
  /** True: the program inherits the standard input of this process. False: it has nothing to read. */
  readonly hasInput: boolean;
}

/** How CMD ended: the exit code as a shell reports it and, if CMD could not be started, the reason. */
export interface ChildExit {
  readonly code: number;
  readonly failure?: string | undefined;
}

/** CMD, in a session and a group of its own. It inherits this process's standard output and error. */
export class Child {
  /** Resolves once CMD's own process has ended. Other processes of its group may still live. */
  readonly exited: Promise<ChildExit>;
  /** Undefined if CMD could not be started. */
  readonly leader: GroupLeader | undefined;
  readonly #process: ChildProcess | undefined;

  /** Starts CMD. If that fails, `exited` resolves with the failure. */
  constructor({ path, command: [argv0, ...args], env, hasInput }: Program) {
    const { promise, resolve } = Promise.withResolvers<ChildExit>();
    this.exited = promise;
    const stdio = [hasInput ? "inherit" : "ignore", "inherit", "inherit"] as const;
    const child = spawned(() => spawn(path, args, { argv0, env, detached: true, stdio: [...stdio] }), resolve);
    this.#process = child;
    if (!child) return;
    child.once("error", (error) => resolve(notStarted(error)));
    child.once("exit", (code, signal) => resolve({ code: code ?? exitCodeOfSignal(signal) }));
    const { pid } = child;
    // The pid still belongs to CMD, even if CMD has ended by now: Node has not waited for it yet.
    if (pid !== undefined) this.leader = { pid, startTicks: startTicksOf(pid) };
  }

  /** Sends a signal to CMD's own process only. Does nothing if that has ended. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }
}

/** Returns a shell's exit code for a program that a signal ended: 128 plus the number of the signal. */
export function exitCodeOfSignal(signal: NodeJS.Signals | null): number {
  return 128 + (signal ? constants.signals[signal] : 0);
}

function spawned(start: () => ChildProcess, failed: (exit: ChildExit) => void): ChildProcess | undefined {
  try {
    return start();
  } catch (error) {
    failed(notStarted(error as Error));
    return undefined;
  }
}

function notStarted(error: NodeJS.ErrnoException): ChildExit {
  // `commandPath` has found the program. So ENOENT usually means that the interpreter which it names is missing.
  const code = error.code === "ENOENT" ? EXIT.notFound : EXIT.notExecutable;
  return { code, failure: `it cannot be started (${error.code ?? error.message})` };
}

import { spawn, type ChildProcess } from "node:child_process";
import { constants } from "node:os";
import { EXIT } from "../exit-codes.ts";
import { startTicksOf, type GroupLeader } from "./process-table.ts";

/** The program to run, found already. */
export interface Program {
  readonly path: string;
  /** The name it was called by, and its arguments. */
  readonly command: readonly [string, ...string[]];
  readonly env: NodeJS.ProcessEnv;
  /** Whether it reads what this process would; else it has nothing to read. */
  readonly hasInput: boolean;
}

/** How CMD ended: its exit code, as a shell gives it; or why it could not be started. */
export interface ChildExit {
  readonly code: number;
  readonly failure?: string | undefined;
}

/** CMD, in a session and a group of its own, with this process's standard output and error, and its input unless that is another job's. */
export class Child {
  /** Resolves once it has ended; others of its group may live. */
  readonly exited: Promise<ChildExit>;
  /** Undefined if it could not be started. */
  readonly leader: GroupLeader | undefined;
  readonly #process: ChildProcess | undefined;

  /** Starts it; a failure is its exit. */
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
    // Even if it has ended by now, it has not been waited for yet: the number is its own.
    if (pid !== undefined) this.leader = { pid, startTicks: startTicksOf(pid) };
  }

  /** Sends a signal to it alone, if it has not ended. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }
}

/** Returns the exit code that a shell gives for a program that a signal ended. */
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
  // The program was there a moment ago; the interpreter that it names need not be.
  const code = error.code === "ENOENT" ? EXIT.notFound : EXIT.notExecutable;
  return { code, failure: `it cannot be started (${error.code ?? error.message})` };
}

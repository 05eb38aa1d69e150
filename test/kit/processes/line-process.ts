import { fork, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { hostMs } from "../clocks/host-clock.ts";
import { guardFrozen } from "./frozen-guard.ts";
import { COMPILE_CACHE } from "./owned-process.ts";
import { reachesState } from "./process-state.ts";

/** The end of a process. */
export interface ProcessEnd {
  /** The time of its end, by the host's clock. */
  readonly atMs: number;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The program to run, and the listeners of its output. */
export interface LineProcessOptions<Line> {
  /** A TypeScript file of this repository. Its process ends itself once it is disconnected from its parent. */
  readonly program: URL;
  /** Its settings, which it gets as JSON in its only argument. */
  readonly settings: unknown;
  readonly onLine: (line: Line) => void;
  /** Called once, after the last line, however the process ends, also if it could not be started. */
  readonly onEnd: (end: ProcessEnd) => void;
}

/**
 * A process that the tests and the demo kill, freeze and listen to. It runs one of our programs, from the sources. The program
 * prints its events as lines of JSON on its standard output, and obeys the messages of its parent. It does not outlive its
 * parent, not even while it is frozen.
 */
export class LineProcess<Line> {
  /** Resolves once it has ended, and all of its output was read. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  #stderr = "";
  #guard: ChildProcess | undefined;

  constructor({ program, settings, onLine, onEnd }: LineProcessOptions<Line>) {
    this.#child = fork(fileURLToPath(program), [JSON.stringify(settings)], {
      execPath: process.execPath,
      // Node 22.13, the oldest supported, strips types on request only.
      execArgv: [
        "--conditions=@leasehold/source",
        ...(process.features.typescript === false ? ["--experimental-strip-types"] : []),
      ],
      env: { ...process.env, NODE_OPTIONS: "", NODE_COMPILE_CACHE: COMPILE_CACHE },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
    createInterface(this.#child.stdout!).on("line", (line) => onLine(JSON.parse(line) as Line));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    let exitedMs: number | undefined;
    const end = (code: number | null, signal: NodeJS.Signals | null): void => {
      this.#guard?.kill("SIGKILL");
      onEnd({ atMs: exitedMs ?? hostMs(), code, signal });
      resolve();
    };
    this.#child.once("exit", () => (exitedMs = hostMs()));
    this.#child.on("error", (error) => {
      this.#stderr += String(error);
      // The process could not be started, so no other event follows.
      if (this.#child.pid === undefined) end(null, null);
    });
    // "close" comes once all of its output was read.
    this.#child.once("close", end);
  }

  /** Its process id; 0 if it could not be started. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Its stderr, which is normally empty. */
  get stderr(): string {
    return this.#stderr;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Sends a message. A process that ends at this moment does not get it. */
  send(message: object | string): void {
    this.#child.send(message, () => undefined);
  }

  /** Sends SIGKILL or SIGTERM. */
  signal(signal: "SIGKILL" | "SIGTERM"): void {
    this.#child.kill(signal);
  }

  /** Sends SIGSTOP. Resolves once the process does not run. */
  async freeze(): Promise<void> {
    this.#child.kill("SIGSTOP");
    // The signal takes effect shortly after `kill` returns.
    await this.stopped();
  }

  /** Resolves once it does not run, whoever sent the SIGSTOP. It still does not outlive this process. */
  async stopped(): Promise<void> {
    this.#guard ??= guardFrozen(this.pid);
    await reachesState(this.pid, "stopped", "gone");
  }

  /** Sends SIGCONT: the process continues. */
  thaw(): void {
    this.#child.kill("SIGCONT");
    this.#guard?.kill("SIGKILL");
    this.#guard = undefined;
  }

  /** Kills it if it still runs, also if it is frozen. Resolves once it has ended. */
  async end(): Promise<void> {
    if (this.pid === 0) return;
    this.#child.kill("SIGKILL");
    await this.ended;
  }
}

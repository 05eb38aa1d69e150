import { spawn, type ChildProcess } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { guardFrozen } from "@leasehold/test-kit/processes/frozen-guard";
import { commandEnvironment, commandLine } from "@leasehold/test-kit/processes/leasehold-command";
import { childrenOf, commandLineOf, signalAll } from "@leasehold/test-kit/processes/process-tree";
import { reachesState } from "@leasehold/test-kit/processes/process-state";

/** This module is loaded into a wrapper. It records how long the wrapper leads, and causes faults. */
const WATCHED = fileURLToPath(new URL("./watched-wrapper.ts", import.meta.url));

/** A folder in memory on Linux. On a disk, a wrapper that is frozen during a write would keep SQLite's file locked. */
const IN_MEMORY = "/dev/shm";

/** The limit of each wait for a wrapper. It is less than a test may take, so that the test's error says what it waited for. */
const WAIT_MS = 240_000;

export interface WrapperOptions {
  /** The URL of the store. */
  readonly store: string;
  readonly election?: string;
  /** The arguments of `run` before `--`. */
  readonly args?: readonly string[];
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The text for its standard input, which then ends. @defaultValue no standard input */
  readonly input?: string | Buffer;
  readonly watched?: boolean;
  readonly nodeOptions?: readonly string[];
  /** A shell's script that runs the wrapper as `"$@"`. */
  readonly script?: string;
}

/** `leasehold run` as a process of its own, which does not outlive this process. */
export class Wrapper {
  /** Resolves with its exit code, or the signal that killed it. */
  readonly exited: Promise<number | NodeJS.Signals>;
  stdout = "";
  stderr = "";
  readonly #child: ChildProcess;
  readonly #keeper: ChildProcess;

  constructor(options: WrapperOptions) {
    const { store, election = "e", args = [], command, env, input, watched = false, nodeOptions = [], script } = options;
    const preloaded = watched ? ["--import", WATCHED] : [];
    const line = commandLine(["run", "--election", election, ...args, "--", ...command], [...nodeOptions, ...preloaded]);
    const [file, ...rest] = script === undefined ? line : (["/bin/sh", "-c", script, "sh", ...line] as const);
    this.#child = spawn(file, rest, {
      env: commandEnvironment({ LEASEHOLD_STORE: store, ...env }),
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    this.#child.stdin?.on("error", () => undefined);
    this.#child.stdin?.end(input);
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.#keeper = guardFrozen(this.pid);
    const { promise, resolve } = Promise.withResolvers<number | NodeJS.Signals>();
    this.exited = promise;
    this.#child.once("close", (code: number | null, signal: NodeJS.Signals | null) => resolve(code ?? signal ?? 0));
  }

  get pid(): number {
    return this.#child.pid!;
  }

  signal(signal: NodeJS.Signals): void {
    signalAll([this.pid], signal);
  }

  /** Freezes the wrapper. Resolves once it does not run. */
  async freeze(): Promise<void> {
    this.signal("SIGSTOP");
    await reachesState(this.pid, "stopped");
  }

  /** Returns the guard's process. */
  async guardPid(): Promise<number> {
    let guard: number | undefined;
    await this.until(async () => {
      guard = (await childrenOf([this.pid])).find((pid) => commandLineOf(pid).includes("guard.ts"));
      return guard !== undefined;
    }, "a guard");
    return guard!;
  }

  /** Resolves once it is so. @throws if the wrapper ends before, or it takes too long. */
  async until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
    let isOver = false;
    void this.exited.then(() => (isOver = true));
    const untilMs = performance.now() + WAIT_MS;
    while (!(await isSo())) {
      if (isOver) throw new Error(`it ended without ${what}: ${this.stderr}`);
      if (performance.now() > untilMs) throw new Error(`${what} has not come within ${WAIT_MS} ms: ${this.stderr}`);
      await delay(10);
    }
  }

  /** Resolves once the wrapper's standard error matches. */
  async said(pattern: RegExp): Promise<void> {
    await this.until(() => pattern.test(this.stderr), String(pattern));
  }

  /** Resolves with the term once the wrapper leads. An attempt whose outcome is unknown may have used up a term. */
  async leads(): Promise<number> {
    const pattern = /leading .* in term (\d+)/;
    await this.said(pattern);
    return Number(pattern.exec(this.stderr)![1]);
  }

  /** Resolves once the command's standard output matches. */
  async wrote(pattern: RegExp): Promise<void> {
    await this.until(() => pattern.test(this.stdout), String(pattern));
  }

  /** Kills the wrapper, if it still runs. */
  async end(): Promise<void> {
    this.signal("SIGKILL");
    await this.exited;
    this.#keeper.kill("SIGKILL");
  }
}

/** A folder with a SQLite store and the files of witnesses. */
export class Stage implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), "leasehold-run-"));
  readonly #wrappers: Wrapper[] = [];

  get store(): string {
    return `sqlite://${this.folder}/leases.db`;
  }

  /** The path of a file that commands write to. */
  path(name: string): string {
    return join(this.folder, name);
  }

  read(name: string): string {
    return existsSync(this.path(name)) ? readFileSync(this.path(name), "utf8") : "";
  }

  write(name: string, text: string): string {
    appendFileSync(this.path(name), text);
    return this.path(name);
  }

  start(options: Omit<WrapperOptions, "store"> & { readonly store?: string }): Wrapper {
    const wrapper = new Wrapper({ store: this.store, ...options });
    this.#wrappers.push(wrapper);
    return wrapper;
  }

  /** Runs a wrapper to its end. */
  async run(options: Omit<WrapperOptions, "store"> & { readonly store?: string }): Promise<Wrapper & { code: number | string }> {
    const wrapper = this.start(options);
    return Object.assign(wrapper, { code: await wrapper.exited });
  }

  /** Runs a shell's script in which the wrapper is `"$@"`. */
  async shell(script: string, options: Omit<WrapperOptions, "store">): Promise<Wrapper & { code: number | string }> {
    return await this.run({ ...options, script });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#wrappers.map(async (wrapper) => wrapper.end()));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

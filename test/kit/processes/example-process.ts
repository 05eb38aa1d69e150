import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { guardFrozen } from "./frozen-guard.ts";
import { reachesState } from "./process-state.ts";
import { userEnvironment } from "./user-environment.ts";

/** The limit of each wait. It is less than a test may take, so that the test's error says what it waited for. */
const WAIT_MS = 240_000;

/** The output of a program on its standard output: lines of JSON, as pino's, unchanged. */
export type Line = Readonly<Record<string, unknown>>;

interface Waiting {
  readonly isMeant: (line: Line) => boolean;
  readonly resolve: (line: Line) => void;
}

/** A running program of an example. Tests read its output, send it HTTP requests, freeze it and end it. */
export class ExampleProcess implements AsyncDisposable {
  readonly lines: Line[] = [];
  /** Resolves once it has ended, with its exit code or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #guard: ChildProcess;
  #waiting: Waiting[] = [];
  #stderr = "";

  constructor(
    { folder }: { readonly folder: string },
    [command, ...args]: readonly [string, ...string[]],
    env: NodeJS.ProcessEnv = {},
  ) {
    this.port = Number(env["PORT"] ?? 0);
    this.#child = spawn(command, args, {
      cwd: folder,
      env: { ...userEnvironment(), ...env },
      stdio: ["ignore", "pipe", "pipe"],
      // Runs in a process group of its own, as in a terminal: Ctrl-C goes to the whole group.
      detached: true,
    });
    this.#guard = guardFrozen(this.pid);
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
    createInterface(this.#child.stdout!).on("line", (text) => this.#hear(text));
    const { promise, resolve } = Promise.withResolvers<number | NodeJS.Signals>();
    this.ended = promise;
    this.#child.once("close", (code, signal) => {
      this.#guard.kill("SIGKILL");
      resolve(code ?? signal ?? 0);
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Returns the first line that matches, past or future. @throws if the program ends without it, or does not say it in time. */
  async said(what: string | ((line: Line) => boolean)): Promise<Line> {
    const isMeant = typeof what === "function" ? what : ({ event, msg }: Line) => event === what || String(msg).includes(what);
    const found = this.lines.find((line) => isMeant(line));
    if (found) return found;
    const { promise, resolve } = Promise.withResolvers<Line>();
    this.#waiting.push({ isMeant, resolve });
    const never = this.ended.then((end) => {
      throw new Error(`It ended (${end}) and never said ${String(what)}.\n${this.history}`);
    });
    const late = AbortSignal.timeout(WAIT_MS);
    const silence = once(late, "abort").then(() => {
      throw new Error(`It has not said ${String(what)} within ${WAIT_MS} ms.\n${this.history}`);
    });
    return await Promise.race([promise, never, silence]);
  }

  /** All of its output, for a test that fails. */
  get history(): string {
    return [...this.lines.map((line) => JSON.stringify(line)), this.#stderr].join("\n");
  }

  async ask(
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly body: Line }> {
    try {
      // A server closes a kept connection after a few seconds, perhaps in the moment in which the next request arrives.
      const options = { headers: { ...headers, connection: "close" }, signal: AbortSignal.timeout(WAIT_MS) };
      const response = await fetch(`http://127.0.0.1:${this.port}${path}`, options);
      return { status: response.status, body: (await response.json()) as Line };
    } catch (cause) {
      throw new Error(`It has not answered ${path}: ${(cause as Error).message}\n${this.history}`, { cause });
    }
  }

  /** Repeats a request until the answer matches. */
  async answers(path: string, isMeant: (body: Line) => boolean): Promise<Line> {
    const untilMs = performance.now() + WAIT_MS;
    for (;;) {
      const { body } = await this.ask(path);
      if (isMeant(body)) return body;
      if (performance.now() > untilMs) throw new Error(`Its last answer to ${path} is ${JSON.stringify(body)}.\n${this.history}`);
      await delay(20);
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Interrupts it as Ctrl-C in a terminal does: all programs of the group get the signal. */
  interrupt(): void {
    process.kill(-this.pid, "SIGINT");
  }

  /** Freezes it. Resolves once it does not run. */
  async freeze(): Promise<void> {
    this.signal("SIGSTOP");
    await reachesState(this.pid, "stopped", "gone");
  }

  thaw(): void {
    this.signal("SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      process.kill(-this.pid, "SIGKILL");
    } catch {
      // The process has ended.
    }
    await this.ended;
  }

  #hear(text: string): void {
    const line = text.startsWith("{") ? (JSON.parse(text) as Line) : { msg: text };
    this.lines.push(line);
    const [now, later] = [true, false].map((meant) => this.#waiting.filter(({ isMeant }) => isMeant(line) === meant));
    this.#waiting = later!;
    for (const { resolve } of now!) resolve(line);
  }
}

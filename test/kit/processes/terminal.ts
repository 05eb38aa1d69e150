import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { findProgram } from "../backends/find-program.ts";
import { guardFrozen } from "./frozen-guard.ts";

const execute = promisify(execFile);

/** The wait between two reads of a terminal. */
const LOOK_MS = 50;

/** Returns why there is no terminal on this machine; `undefined` if there is one. */
export async function terminalMissing(): Promise<string | undefined> {
  return (await findProgram("tmux")) === undefined ? "tmux is not installed: apt-get install tmux" : undefined;
}

/** A real terminal in which a command runs: a session of tmux. It does not outlive this process. */
export class Terminal implements AsyncDisposable {
  readonly #socket: string;

  private constructor(socket: string) {
    this.#socket = socket;
  }

  /** Starts the command as a shell in a terminal does. Once it has ended, the terminal shows `exit code N`. */
  static async start(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Terminal> {
    const terminal = new Terminal(`leasehold-${randomUUID()}`);
    const variables = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    const script = '"$@"; echo "exit code $?"; exec sleep 3600';
    const size = ["-x", "160", "-y", "50"];
    // A separate session, without any user's configuration.
    await terminal.#tmux("-f", "/dev/null", "new-session", "-d", ...size, ...variables, "sh", "-c", script, "sh", ...command);
    const keeper = guardFrozen(Number(await terminal.#tmux("display-message", "-p", "#{pid}")));
    keeper.unref();
    return terminal;
  }

  /** Returns its present text. */
  async text(): Promise<string> {
    return await this.#tmux("capture-pane", "-p", "-J");
  }

  /** Presses keys, by tmux' names for them: `yes`, `Enter`, `C-c`. */
  async press(...keys: readonly string[]): Promise<void> {
    await this.#tmux("send-keys", ...keys);
  }

  /** Resolves with its text as soon as that contains `expected`. It waits until the test's time limit. */
  async shows(expected: string | RegExp): Promise<string> {
    for (;;) {
      const text = await this.text();
      if (typeof expected === "string" ? text.includes(expected) : expected.test(text)) return text;
      await delay(LOOK_MS);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux("kill-server");
  }

  async #tmux(...args: readonly string[]): Promise<string> {
    return (await execute("tmux", ["-L", this.#socket, ...args])).stdout;
  }
}

/** `leasehold run` in a real terminal, which tmux keeps: Ctrl-C, and a command that reads what is typed. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { findProgram } from "@leasehold/test-kit/backends/find-program";
import { describe, expect, test } from "vitest";
import { nodeArguments, Stage, wrapperEnvironment } from "./wrapper.ts";

const missing = await isMissing(
  findProgram("tmux").then((path) => (path === undefined ? "tmux is not installed: apt-get install tmux" : undefined)),
);

/** A terminal in which a shell runs one line. */
class Terminal implements AsyncDisposable {
  readonly #socket = `leasehold-${randomUUID()}`;

  async open(line: string, env: NodeJS.ProcessEnv): Promise<void> {
    // Without a configuration of somebody's own.
    await this.#tmux(["-f", "/dev/null", "new-session", "-d", "-x", "200", "-y", "50", "sh"], env);
    await this.#tmux(["send-keys", "-t", ":0", line, "Enter"]);
  }

  async type(...keys: readonly string[]): Promise<void> {
    await this.#tmux(["send-keys", "-t", ":0", ...keys]);
  }

  /** Resolves once the screen shows it. */
  async shows(pattern: RegExp): Promise<string> {
    for (;;) {
      const screen = await this.#tmux(["capture-pane", "-p", "-t", ":0"]);
      if (pattern.test(screen)) return screen;
      await delay(50);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux(["kill-server"]).catch(() => undefined);
  }

  async #tmux(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<string> {
    return (await promisify(execFile)("tmux", ["-L", this.#socket, ...args], { env })).stdout;
  }
}

function lineFor(stage: Stage, script: string): string {
  const leasehold = [process.execPath, ...nodeArguments(), "run", "--election", "e", "--lease", "4s", "--"].join(" ");
  return `${leasehold} sh ${stage.write("command", script)}; echo "code $?"`;
}

describe.skipIf(missing)("in a terminal", () => {
  test("Ctrl-C is the command's, and its answer the exit code", async () => {
    await using stage = new Stage();
    await using terminal = new Terminal();
    const script = `trap "echo interrupted; exit 9" INT\necho up\nwhile :; do sleep 0.05; done\n`;
    await terminal.open(lineFor(stage, script), wrapperEnvironment({ LEASEHOLD_STORE: stage.store }));
    await terminal.shows(/^up$/m);
    await terminal.type("C-c");
    expect(await terminal.shows(/^code \d/m)).toMatch(/^(\^C)?interrupted\ncode 9$/m);
  });

  test("the command reads what is typed", async () => {
    await using stage = new Stage();
    await using terminal = new Terminal();
    const script = 'echo "what is it?"\nread -r answer\necho "it is <$answer>"\n';
    await terminal.open(lineFor(stage, script), wrapperEnvironment({ LEASEHOLD_STORE: stage.store }));
    await terminal.shows(/^what is it\?$/m);
    await terminal.type("a word", "Enter");
    expect(await terminal.shows(/^code \d/m)).toMatch(/^it is <a word>\ncode 0$/m);
  });
});

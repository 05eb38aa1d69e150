import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { MemoryLeaseStore } from "@leasehold/core";
import { childrenOf, commandLineOf, signalAll } from "@leasehold/test-kit/processes/process-tree";
import { loggerTo } from "../../src/line-logger.ts";
import { run } from "../../src/run/run.ts";
import { runOccurrence } from "../../src/run/run-occurrence.ts";
import type { RunOptions } from "../../src/run/run-options.ts";

/** `leasehold run` in this process, which it signals and asks, on a store in memory: only its command and its guard are processes. */
export class RunHere implements Disposable {
  readonly store: MemoryLeaseStore = new MemoryLeaseStore();
  readonly folder: string = mkdtempSync(join(tmpdir(), "leasehold-run-here-"));
  /** What people were told. */
  readonly said: string[] = [];

  /** Runs a shell's script, in which `$0` is the folder, and resolves with the exit code. */
  async run(script: string, options: Partial<RunOptions> = {}): Promise<number> {
    return await run(this.#options(script, options));
  }

  /** The same, once for a key. */
  async runOnce(key: string, script: string, options: Partial<RunOptions> = {}): Promise<number> {
    return await runOccurrence(key, this.#options(script, options));
  }

  /** Resolves with what a command has written to a file of the folder, once it ends with a line's end. */
  async wrote(file: string): Promise<string> {
    for (;;) {
      const text = this.read(file);
      if (text.endsWith("\n")) return text;
      await delay(10);
    }
  }

  read(file: string): string {
    const path = join(this.folder, file);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }

  /** Resolves once people were told what matches. */
  async told(pattern: RegExp): Promise<void> {
    while (!this.said.some((line) => pattern.test(line))) await delay(10);
  }

  /** Sends a signal to `leasehold`: it is not this process that it is meant for. */
  signal(signal: NodeJS.Signals): void {
    process.emit(signal, signal);
  }

  async killGuard(): Promise<void> {
    const children = await childrenOf([process.pid]);
    signalAll(
      children.filter((pid) => commandLineOf(pid).includes("run/guard.ts")),
      "SIGKILL",
    );
  }

  /** Nothing that it started outlives it, not even where `run` left it. */
  [Symbol.dispose](): void {
    const pids = existsSync("/proc") ? readdirSync("/proc").filter((name) => /^\d+$/.test(name)) : [];
    signalAll(
      pids.map(Number).filter((pid) => commandLineOf(pid).includes(this.folder)),
      "SIGKILL",
    );
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #options(script: string, options: Partial<RunOptions>): RunOptions {
    const tell = (line: string): void => void this.said.push(line);
    return {
      store: this.store,
      election: "e",
      command: ["sh", "-c", script, this.folder],
      graceMs: 8_000,
      ignoresHangup: false,
      inheritSecrets: false,
      lossSignal: "SIGTERM",
      restart: "never",
      lostExitCode: 70,
      conflictExitCode: 75,
      tell,
      inform: tell,
      logger: loggerTo(tell),
      ...options,
    };
  }
}

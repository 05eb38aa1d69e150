import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { MemoryLeaseStore } from "@leasehold/core";
import { childrenOf, commandLineOf, signalAll } from "@leasehold/test-kit/processes/process-tree";
import { run } from "../../src/run/run.ts";
import { runFleet, type FleetPart } from "../../src/run/run-fleet.ts";
import { runOccurrence } from "../../src/run/run-occurrence.ts";
import type { RunOptions } from "../../src/run/run-options.ts";

/** `leasehold run` in this process, on a store in memory. Only its command and its guard are other processes. */
export class RunHere implements Disposable {
  readonly store: MemoryLeaseStore = new MemoryLeaseStore();
  readonly folder: string = mkdtempSync(join(tmpdir(), "leasehold-run-here-"));
  /** The lines that were printed. */
  readonly said: string[] = [];

  /** Runs a shell's script, in which `$0` is the folder, and resolves with the exit code. */
  async run(script: string, options: Partial<RunOptions> = {}): Promise<number> {
    return await run(this.#options(script, options));
  }

  /** Runs a shell's script once for a key. */
  async runOnce(key: string, script: string, options: Partial<RunOptions> = {}): Promise<number> {
    return await runOccurrence(key, this.#options(script, options));
  }

  /** Runs a shell's script for each shard of a fleet. */
  async runFleet(part: FleetPart, script: string, options: Partial<RunOptions> = {}): Promise<number> {
    return await runFleet(part, this.#options(script, options));
  }

  /** Resolves with the content of a file in the folder, once that ends with a line break. */
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

  /** Resolves once a printed line matches. */
  async told(pattern: RegExp): Promise<void> {
    while (!this.said.some((line) => pattern.test(line))) await delay(10);
  }

  /** Calls the signal handlers of `leasehold`. This process itself gets no signal. */
  signal(signal: NodeJS.Signals): void {
    process.emit(signal, signal);
  }

  /** Signals the guards, and returns their pids. */
  async signalGuard(signal: NodeJS.Signals): Promise<readonly number[]> {
    const guards = (await childrenOf([process.pid])).filter((pid) => commandLineOf(pid).includes("run/guard.ts"));
    signalAll(guards, signal);
    return guards;
  }

  /** Ends every process that `run` started, even one that `run` left behind. */
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
      logger: { debug: () => {}, info: () => {}, warn: tell, error: tell },
      ...options,
    };
  }
}

import { fork, type ChildProcess } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import type { Delivery, WorkerLine, WorkerSettings } from "./delivery.ts";

/** What one who starts a worker hears of it. */
export interface WorkerListener {
  said(line: WorkerLine): void;
  /** Everything that it said has been heard; it ended at `atMs`, and was killed or not. */
  ended(atMs: number, killed: boolean): void;
}

/** A process that runs `worker.ts`. */
export class WorkerProcess {
  readonly name: string;
  /** Resolves once it takes deliveries. @throws if it ends before. */
  readonly ready: Promise<void>;
  /** Resolves once it has ended, and all that it said has been heard. */
  readonly ended: Promise<void>;
  /** How many deliveries it has, by the count of whoever sends them. */
  busy = 0;
  readonly #child: ChildProcess;
  #stderr = "";
  #hasEnded = false;

  constructor(name: string, settings: WorkerSettings, listener: WorkerListener) {
    this.name = name;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ready = promise;
    // Nobody may be waiting for it when it is killed.
    promise.catch(() => undefined);
    this.#child = fork(fileURLToPath(new URL("./worker.ts", import.meta.url)), [JSON.stringify(settings)], {
      execPath: process.execPath,
      // Node 22.12, the oldest supported, strips types on request only.
      execArgv: [
        "--conditions=@leasehold/source",
        ...(process.features.typescript === false ? ["--experimental-strip-types"] : []),
      ],
      // Most of a start is the compilation of an SDK.
      env: { ...process.env, NODE_OPTIONS: "", NODE_COMPILE_CACHE: join(tmpdir(), "leasehold-test-compile-cache") },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
    createInterface(this.#child.stdout!).on("line", (text) => {
      const line = JSON.parse(text) as WorkerLine;
      if (line.event === "ready") resolve();
      listener.said(line);
    });
    const ended = Promise.withResolvers<void>();
    this.ended = ended.promise;
    let exitedMs = 0;
    this.#child.once("exit", () => {
      exitedMs = hostMs();
      this.#hasEnded = true;
    });
    // "close" comes once everything that it said has been read.
    this.#child.once("close", (_, signal) => {
      reject(new Error(`${name} has ended before it was ready.\n${this.#stderr}`));
      listener.ended(exitedMs, signal === "SIGKILL");
      ended.resolve();
    });
  }

  /** What it wrote to stderr: normally nothing. */
  get stderr(): string {
    return this.#stderr;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  send(delivery: Delivery): void {
    // One that ends at this moment does not get it.
    this.#child.send(delivery, () => undefined);
  }

  /** Kills it, if it still runs. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.ended;
  }
}

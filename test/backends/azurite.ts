import { fork, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { AdvanceClock, ChildMessage } from "./azurite-child.ts";
import { reachesState } from "./process-state.ts";

/** How to start Azurite. */
export interface AzuriteOptions {
  /** The port to listen on, for a service that comes back where it was. @defaultValue 0, a free one */
  readonly port?: number | undefined;
  /** How long the start may take before it fails, in milliseconds. @defaultValue 30000 */
  readonly startTimeoutMs?: number | undefined;
}

/**
 * Microsoft's blob emulator in a process of its own, holding its data in memory. It does not outlive this process,
 * however this process ends.
 */
export interface Azurite extends AsyncDisposable {
  /** The origin, such as `http://127.0.0.1:40123`. Blobs are below `${url}/devstoreaccount1`. */
  readonly url: string;
  /** Names the service and its well-known account. */
  readonly connectionString: string;
  /** The process that serves. */
  readonly pid: number;
  /**
   * Moves the clock by which the service expires leases and dates its replies; negative moves it back. Requests that
   * are sent after it resolves see the new time. While the service is paused it waits for `resume`.
   * @throws if the process has ended.
   */
  advance(ms: number): Promise<void>;
  /**
   * Stops the process where it stands (SIGSTOP): connections stay open, and nobody answers. Resolves once it has stopped.
   * @throws if the process has ended.
   */
  pause(): Promise<void>;
  /** Lets a paused process go on (SIGCONT), with the requests that have arrived meanwhile. */
  resume(): void;
  /** Kills the process and waits for its end; all data is lost. May be called again. */
  stop(): Promise<void>;
}

/**
 * Starts Azurite's blob service on 127.0.0.1. Takes about half a second.
 * @throws an error with what the process wrote to stderr, if it ends or takes too long before it serves.
 */
export async function startAzurite(options: AzuriteOptions = {}): Promise<Azurite> {
  const child = fork(fileURLToPath(new URL("./azurite-child.ts", import.meta.url)), [String(options.port ?? 0)], {
    execPath: nodeExecutable(),
    // Not this process's own, which in a Vitest worker name loaders and conditions that are not meant for Azurite.
    // Node 22.12, the oldest supported, strips types on request only.
    execArgv: process.features.typescript === false ? ["--experimental-strip-types"] : [],
    env: environment(),
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const stderr = lastOutput(child);
  const url = await listening(child, stderr, options.startTimeoutMs ?? 30_000);
  return new AzuriteProcess(child, url, stderr);
}

/** The connection string of the well-known account at `baseUrl`: Azurite's own, or that of a proxy in front of it. */
export function azuriteConnectionString(baseUrl: string): string {
  // Published, and the same in every Azurite: https://learn.microsoft.com/azure/storage/common/storage-connect-azurite
  const account = "devstoreaccount1";
  const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
  const endpoint = `${new URL(baseUrl).origin}/${account}`;
  return `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${key};BlobEndpoint=${endpoint};`;
}

class AzuriteProcess implements Azurite {
  readonly url: string;
  readonly connectionString: string;
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #stderr: () => string;
  readonly #advances = new Map<number, PromiseWithResolvers<void>>();
  #lastId = 0;
  #guard: ChildProcess | undefined;

  constructor(child: ChildProcess, url: string, stderr: () => string) {
    this.url = url;
    this.connectionString = azuriteConnectionString(url);
    this.pid = child.pid!;
    this.#child = child;
    this.#stderr = stderr;
    child.on("message", (message: ChildMessage) => {
      if (message.kind === "advanced") this.#settle(message.id);
    });
    child.once("exit", () => {
      this.#dismissGuard();
      for (const id of this.#advances.keys()) this.#settle(id, this.#ended());
    });
  }

  async advance(ms: number): Promise<void> {
    if (!Number.isFinite(ms)) throw new RangeError(`A clock cannot be moved by ${ms} ms.`);
    if (hasEnded(this.#child)) throw this.#ended();
    const message: AdvanceClock = { id: ++this.#lastId, advanceMs: ms };
    const done = Promise.withResolvers<void>();
    this.#advances.set(message.id, done);
    this.#child.send(message, (error) => {
      if (error !== null) this.#settle(message.id, error);
    });
    await done.promise;
  }

  async pause(): Promise<void> {
    if (hasEnded(this.#child)) throw this.#ended();
    this.#guard ??= guardPaused(this.pid);
    this.#child.kill("SIGSTOP");
    // The signal takes effect a little after `kill` returns.
    if ((await reachesState(this.pid, "stopped", "gone")) === "gone") throw this.#ended();
  }

  resume(): void {
    this.#child.kill("SIGCONT");
    this.#dismissGuard();
  }

  async stop(): Promise<void> {
    await end(this.#child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #settle(id: number, error?: Error): void {
    const done = this.#advances.get(id);
    this.#advances.delete(id);
    if (error === undefined) done?.resolve();
    else done?.reject(error);
  }

  #dismissGuard(): void {
    this.#guard?.kill("SIGKILL");
    this.#guard = undefined;
  }

  #ended(): Error {
    return new Error(`Azurite (pid ${this.pid}) has ended, ${outcome(this.#child)}.\n${this.#stderr()}`);
  }
}

/** This Node, which runs the tests. Nothing else on the machine is sure to be the version that is being tested. */
function nodeExecutable(): string {
  const major = Number(process.versions.node.split(".")[0]);
  if (major >= 22) return process.execPath;
  throw new Error(`Node ${process.versions.node} is too old to start Azurite: run this through npm scripts or npx.`);
}

/** Without what would reconfigure Azurite (its accounts, its database) or Node (coverage, preloads). */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(AZURITE|NODE)_/.test(name)));
}

/** Keeps the end of what `child` writes to stderr; it must be read to the end, or the child would block. */
function lastOutput(child: ChildProcess): () => string {
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    text = (text + chunk).slice(-20_000);
  });
  return () => text;
}

/** Waits for the child's word that it serves, and gives its address. */
async function listening(child: ChildProcess, stderr: () => string, timeoutMs: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const onMessage = (message: ChildMessage): void => {
    if (message.kind === "listening") resolve(message.url);
  };
  // "close" comes after "exit", with all of stderr read; only "error" comes if there is no process at all.
  const onClose = (): void => reject(new Error(`Azurite did not start, ${outcome(child)}.\n${stderr()}`));
  const timer = setTimeout(() => {
    reject(new Error(`Azurite did not start within ${timeoutMs} ms.\n${stderr()}`));
  }, timeoutMs);
  child.on("message", onMessage).once("close", onClose).once("error", reject);
  try {
    return await promise;
  } catch (error) {
    await end(child);
    throw error;
  } finally {
    clearTimeout(timer);
    child.off("message", onMessage).off("close", onClose).off("error", reject);
  }
}

/** Kills `child`, even a paused one, and waits until the system says that it has ended. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || hasEnded(child)) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function outcome(child: ChildProcess): string {
  return child.signalCode === null ? `exit code ${child.exitCode}` : `killed by ${child.signalCode}`;
}

/**
 * A paused process cannot notice that its parent has died, and would be left over for ever. This shell waits for the
 * end of this process, which closes its standard input, and then lets the paused one go on, to its own end.
 */
function guardPaused(pid: number): ChildProcess {
  return spawn("/bin/sh", ["-c", 'trap "" INT TERM HUP; read -r _; kill -CONT "$0"', String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
  });
}

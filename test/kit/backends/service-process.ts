import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { nodeArguments, nodeExecutable, OwnedProcess } from "../processes/owned-process.ts";
import type { ProgramOptions } from "../processes/owned-process.ts";
import { reachesState } from "../processes/process-state.ts";
import type { AdvanceClock, ServiceMessage } from "./service-child.ts";

/** A service in a process of its own. It does not outlive this process, however this process ends. */
export interface ServiceProcess extends AsyncDisposable {
  /** The origin, such as `http://127.0.0.1:40123`. */
  readonly url: string;
  /** The id of the process that serves. */
  readonly pid: number;
  /**
   * Moves the clock by which the service dates its replies and everything else; a negative `ms` moves it back. Requests that are
   * sent after it resolves see the new time. While the service is paused, it waits for `resume`.
   * @throws if the process has ended.
   */
  advance(ms: number): Promise<void>;
  /**
   * Pauses the process (SIGSTOP): connections stay open, and get no answer. Resolves once it has stopped.
   * @throws if the process has ended.
   */
  pause(): Promise<void>;
  /** Lets a paused process continue (SIGCONT), with the requests that have arrived meanwhile. */
  resume(): void;
  /** Kills the process and waits for its end; all data is lost. May be called again. */
  stop(): Promise<void>;
}

/**
 * Starts a Node process that loads the module at `script` and calls its `serve` (see `ServiceModule`). The module, and everything
 * that it imports, has the movable clock in place of `Date`.
 * @param name its name in error messages, such as `Azurite`
 * @throws an error with the process's stderr, if it ends or takes too long before it serves.
 */
export async function startServiceChild(name: string, script: URL): Promise<ServiceProcess> {
  const launcher = fileURLToPath(new URL("./service-child.ts", import.meta.url));
  return await startServiceProcess({ name, command: nodeExecutable(), args: nodeArguments(launcher, [script.href]) });
}

/**
 * Starts a program with the protocol of service-child.ts. It reports its address (`ServiceMessage`), moves its clock on request
 * (`AdvanceClock`), and ends when the channel closes.
 * @throws an error with the process's stderr, if it ends or takes too long before it serves.
 */
export async function startServiceProcess(program: ProgramOptions): Promise<ServiceProcess> {
  const owned = new OwnedProcess(program);
  const message = await owned.firstMessage<ServiceMessage>();
  if (message.kind === "listening") return new PausableService(owned, message.url);
  throw new Error(`${program.name} has answered before it was asked.`);
}

class PausableService implements ServiceProcess {
  readonly url: string;
  readonly pid: number;
  readonly #process: OwnedProcess;
  readonly #advances = new Map<number, PromiseWithResolvers<void>>();
  #lastId = 0;
  #guard: ChildProcess | undefined;

  constructor(owned: OwnedProcess, url: string) {
    this.url = url;
    this.pid = owned.pid;
    this.#process = owned;
    owned.onMessage((received) => {
      const message = received as ServiceMessage;
      if (message.kind === "advanced") this.#settle(message.id);
    });
    owned.onExit(() => {
      this.#dismissGuard();
      for (const id of this.#advances.keys()) this.#settle(id, owned.ended());
    });
  }

  async advance(ms: number): Promise<void> {
    if (!Number.isFinite(ms)) throw new RangeError(`A clock cannot be moved by ${ms} ms.`);
    if (this.#process.hasEnded) throw this.#process.ended();
    const message: AdvanceClock = { id: ++this.#lastId, advanceMs: ms };
    const done = Promise.withResolvers<void>();
    this.#advances.set(message.id, done);
    this.#process.send(message).catch((error: unknown) => this.#settle(message.id, error));
    await done.promise;
  }

  async pause(): Promise<void> {
    if (this.#process.hasEnded) throw this.#process.ended();
    this.#guard ??= guardPaused(this.pid);
    this.#process.signal("SIGSTOP");
    // The signal takes effect shortly after `kill` returns.
    if ((await reachesState(this.pid, "stopped", "gone")) === "gone") throw this.#process.ended();
  }

  resume(): void {
    this.#process.signal("SIGCONT");
    this.#dismissGuard();
  }

  async stop(): Promise<void> {
    await this.#process.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #settle(id: number, error?: unknown): void {
    const done = this.#advances.get(id);
    this.#advances.delete(id);
    if (error === undefined) done?.resolve();
    else done?.reject(error);
  }

  #dismissGuard(): void {
    this.#guard?.kill("SIGKILL");
    this.#guard = undefined;
  }
}

/**
 * A paused process cannot notice that its parent has died, and would remain for ever. This shell waits for the end of this
 * process, which closes the shell's standard input. Then it lets the paused process continue, which ends by itself.
 */
function guardPaused(pid: number): ChildProcess {
  return spawn("/bin/sh", ["-c", 'trap "" INT TERM HUP; read -r _; kill -CONT "$0"', String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
  });
}

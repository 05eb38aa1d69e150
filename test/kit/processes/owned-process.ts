import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** The compile cache: most of the start of a short process is the compilation of an SDK. */
export const COMPILE_CACHE: string = fileURLToPath(new URL("../../../node_modules/.cache/compiled", import.meta.url));

/** The program to run, its name, and its options. */
export interface ProgramOptions {
  /** Its name in error messages, such as `Azurite`. */
  readonly name: string;
  /** The executable: a path, or a name on the PATH. */
  readonly command: string;
  readonly args: readonly string[];
  /** The time limit of its start, in milliseconds. @defaultValue 60000 */
  readonly startTimeoutMs?: number | undefined;
  /** True if it is ended by closing the channel, because it has to clean up, and is not killed. @defaultValue false */
  readonly cleansUp?: boolean | undefined;
}

/**
 * A process that this one starts, with a channel of JSON lines between them. The channel is Node's IPC, whose file descriptor is
 * in the environment variable NODE_CHANNEL_FD. It closes when either of them ends, however it ends. The process must end itself
 * then, so that it does not outlive this one.
 */
export class OwnedProcess {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #startTimeoutMs: number;
  readonly #cleansUp: boolean;
  #stderr = "";

  /** Starts the program. `firstMessage` rejects if it could not be started. */
  constructor({ name, command, args, startTimeoutMs = 60_000, cleansUp = false }: ProgramOptions) {
    this.name = name;
    this.#startTimeoutMs = startTimeoutMs;
    this.#cleansUp = cleansUp;
    this.#child = spawn(command, args, { env: environment(), stdio: ["ignore", "ignore", "pipe", "ipc"] });
    // stderr must be read to the end, otherwise the child would block.
    this.#child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      this.#stderr = (this.#stderr + chunk).slice(-20_000);
    });
  }

  /** @throws if there is no process, because it could not be started. */
  get pid(): number {
    if (this.#child.pid === undefined) throw new Error(`${this.name} has not been started.`);
    return this.#child.pid;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /**
   * Waits for the first message of the process, which says that it serves.
   * @throws an error with the process's stderr, if it ends or takes too long before that. The process has ended then.
   */
  async firstMessage<Message>(): Promise<Message> {
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    // "close" comes after "exit", once all of stderr was read. If there is no process at all, only "error" comes.
    const onClose = (): void => reject(new Error(`${this.name} did not start, ${this.#outcome()}.\n${this.#stderr}`));
    const onTimeout = (): void =>
      reject(new Error(`${this.name} did not start within ${this.#startTimeoutMs} ms.\n${this.#stderr}`));
    const timer = setTimeout(onTimeout, this.#startTimeoutMs);
    this.#child.once("message", resolve).once("close", onClose).once("error", reject);
    try {
      return await promise;
    } catch (error) {
      await this.end();
      throw error;
    } finally {
      clearTimeout(timer);
      this.#child.off("message", resolve).off("close", onClose).off("error", reject);
    }
  }

  /**
   * Waits for the next message: the answer to the message that is sent right after this call.
   * @throws an error with the process's stderr, if it ends instead.
   */
  async nextMessage<Message>(): Promise<Message> {
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    const onClose = (): void => reject(this.ended());
    this.#child.once("message", resolve).once("close", onClose);
    try {
      return await promise;
    } finally {
      this.#child.off("message", resolve).off("close", onClose);
    }
  }

  /** Calls `listener` with every message that comes from now on. */
  onMessage(listener: (message: unknown) => void): void {
    this.#child.on("message", listener);
  }

  /** Calls `listener` once the process has ended, if it has not yet. */
  onExit(listener: () => void): void {
    this.#child.once("exit", listener);
  }

  /** Resolves when the system has taken the message; the process may read it later. @throws if the channel is closed. */
  async send(message: object | string): Promise<void> {
    const sent = Promise.withResolvers<void>();
    this.#child.send(message, (error) => (error === null ? sent.resolve() : sent.reject(error)));
    await sent.promise;
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(signal);
  }

  /**
   * Ends the process, even a paused one that has to be killed, and waits until the system reports its end. May be called again.
   */
  async end(): Promise<void> {
    if (this.#child.pid === undefined || this.hasEnded) return;
    const exit = once(this.#child, "exit");
    if (!this.#cleansUp) this.#child.kill("SIGKILL");
    else if (this.#child.connected) this.#child.disconnect();
    await exit;
  }

  /** Returns the error of a process that has ended. */
  ended(): Error {
    return new Error(`${this.name} (pid ${this.pid}) has ended, ${this.#outcome()}.\n${this.#stderr}`);
  }

  #outcome(): string {
    return this.#child.signalCode === null ? `exit code ${this.#child.exitCode}` : `killed by ${this.#child.signalCode}`;
  }
}

/** Returns the executable of this Node, which runs the tests. Another Node on the machine may have another version. */
export function nodeExecutable(): string {
  const major = Number(process.versions.node.split(".")[0]);
  if (major >= 22) return process.execPath;
  throw new Error(`Node ${process.versions.node} is too old to start a backend: run this through npm scripts or npx.`);
}

/**
 * Returns the arguments with which Node runs a file of this repository. This process's own arguments are not used: in a Vitest
 * worker they name loaders and conditions that are not for a backend.
 */
export function nodeArguments(file: string, args: readonly string[]): readonly string[] {
  // Node 22.13, the oldest supported, strips types on request only.
  const stripTypes = process.features.typescript === false ? ["--experimental-strip-types"] : [];
  return [...stripTypes, "--conditions=@leasehold/source", file, ...args];
}

/**
 * Returns the environment without variables that configure a backend (accounts, ports, data directories) or Node (coverage,
 * preloads).
 */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(AZURITE_|ETCD|MOTO_|MYSQL_|NODE_|PG)/.test(name)));
}

import { spawn, type ChildProcess } from "node:child_process";
import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { isatty } from "node:tty";
import type { OutputSink } from "./unblocked-output.ts";

const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;

/** A shell script that copies its input to its standard error and waits for the reader. It ignores HUP, INT, QUIT and TERM. */
const RELAY = `trap "" HUP INT QUIT TERM; exec cat >&2`;
/** The exit code of a Node relay whose reader has closed the pipe. A shell returns the same code after SIGPIPE. */
const READER_LEFT = 141;
/**
 * The same for Node, on systems without a shell. Node may make its standard error non-blocking, so a write may have to be tried
 * again.
 */
const NODE_RELAY = `
for (const name of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"]) process.on(name, () => {});
const { readSync, writeSync } = require("node:fs");
const cell = new Int32Array(new SharedArrayBuffer(4));
const bytes = Buffer.alloc(65_536);
for (let length; (length = readSync(0, bytes)) > 0;)
  for (let sent = 0; sent < length;)
    try {
      sent += writeSync(2, bytes, sent, length - sent);
    } catch (error) {
      if (error.code !== "EAGAIN") process.exit(${READER_LEFT});
      Atomics.wait(cell, 0, 0, 50);
    }`;

/**
 * Returns a sink for this process's standard error that never waits for a reader.
 *
 * `O_NONBLOCK` belongs to the open file, which the command of `run` shares. With this flag the command would lose output. So
 * `stderrSink` opens a pipe or a terminal a second time. If that fails, as for a socket, a relay process writes and may wait.
 */
export function stderrSink(fd = 2, shell = "/bin/sh"): OutputSink {
  const isTerminal = isatty(fd);
  if (process.platform === "win32" || (!isTerminal && !mayWait(fd))) return descriptorSink(fd, isTerminal);
  try {
    return descriptorSink(openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY), isTerminal);
  } catch {
    return new RelaySink(fd, isTerminal, shell);
  }
}

/** Reports whether a write may wait for a reader: it may on a pipe or a socket. It may not on a file or on /dev/null. */
function mayWait(fd: number): boolean {
  try {
    const stat = fstatSync(fd);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    // The descriptor is closed.
    return false;
  }
}

function descriptorSink(fd: number, isTerminal: boolean): OutputSink {
  return {
    isTerminal,
    write(bytes) {
      try {
        return writeSync(fd, bytes);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EAGAIN") return 0;
        throw error;
      }
    },
    end: async () => {},
  };
}

/** Writes through a relay process in a session of its own. The relay waits for the reader in place of this process. */
class RelaySink implements OutputSink {
  readonly isTerminal: boolean;
  readonly #fd: number;
  readonly #shell: string;
  #relay: ChildProcess | undefined;
  #exited = Promise.resolve();
  #isLost = false;

  constructor(fd: number, isTerminal: boolean, shell: string) {
    this.#fd = fd;
    this.#shell = shell;
    this.isTerminal = isTerminal;
  }

  write(bytes: Buffer): number {
    if (this.#isLost) throw new Error("the reader has left");
    this.#relay ??= this.#start();
    const { stdin }: Partial<ChildProcess> = this.#relay ?? {};
    if (!stdin || stdin.writableLength > 0) return 0;
    stdin.write(bytes);
    return bytes.length;
  }

  async end(): Promise<void> {
    this.#relay?.stdin?.end();
    await this.#exited;
  }

  /** Starts a relay. Returns undefined if no process can be started now: a later write tries again, and no line is lost. */
  #start(): ChildProcess | undefined {
    const relay = this.#spawn(this.#shell, ["-c", RELAY]) ?? this.#spawn(process.execPath, ["-e", NODE_RELAY]);
    if (!relay) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#exited = promise;
    relay.stdin?.on("error", () => {});
    relay.once("exit", (code, signal) => {
      // After the reader has left, no other relay starts. After any other end the next line starts a new one.
      if (signal === "SIGPIPE" || code === READER_LEFT) this.#isLost = true;
      this.#relay = undefined;
      resolve();
    });
    relay.unref();
    return relay;
  }

  #spawn(file: string, args: readonly string[]): ChildProcess | undefined {
    const { PATH = "/usr/bin:/bin" } = process.env;
    try {
      const stdio = ["pipe", "ignore", this.#fd] as const;
      const child = spawn(file, args, { detached: true, cwd: "/", env: { PATH }, stdio: [...stdio] });
      child.once("error", () => {});
      // A process that could not be started has no pid.
      return child.pid === undefined ? undefined : child;
    } catch {
      return undefined;
    }
  }
}

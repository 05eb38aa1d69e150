import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { guardFrozen } from "@leasehold/test-kit/processes/frozen-guard";
import { commandEnvironment, commandLine } from "@leasehold/test-kit/processes/leasehold-command";

/** A sidecar that is a process of its own. It does not outlive this process, even if it is frozen. */
export class RealSidecar implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #guard: ChildProcess;

  private constructor(child: ChildProcess, guard: ChildProcess, url: string) {
    this.#child = child;
    this.#guard = guard;
    this.url = url;
  }

  /** Resolves once the sidecar listens. @throws its output if it ends before. */
  static async start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<RealSidecar> {
    const [file, ...rest] = commandLine(["serve", ...args]);
    const child = spawn(file, rest, { env: commandEnvironment(env), stdio: ["ignore", "ignore", "pipe"] });
    const guard = guardFrozen(Number(child.pid));
    let said = "";
    const url = await new Promise<string>((resolve, reject) => {
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        const [, listensOn] = / on (\S+)\n/.exec(said) ?? [];
        if (listensOn !== undefined) resolve(listensOn);
      });
      child.once("exit", (code) => reject(new Error(`serve has ended with ${code}: ${said}`)));
    });
    return new RealSidecar(child, guard, url);
  }

  get pid(): number {
    return Number(this.#child.pid);
  }

  async status(path: string): Promise<number> {
    const response = await fetch(new URL(path, this.url));
    await response.body?.cancel();
    return response.status;
  }

  /** Resolves once the sidecar leads. */
  async leads(): Promise<void> {
    const response = await fetch(new URL("/events", this.url));
    let text = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (text.includes('"state":"leading"')) return;
    }
    throw new Error("The sidecar has ended before it led.");
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Asks the sidecar to end, and resolves once it has ended. By then it has released its leases. */
  async stop(): Promise<void> {
    await this.#endBy("SIGTERM");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endBy("SIGKILL");
    this.#guard.kill("SIGKILL");
  }

  async #endBy(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill(signal);
    await ended;
  }
}

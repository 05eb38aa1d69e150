import { spawn, type ChildProcess } from "node:child_process";

/** A command in a process group of its own. It inherits the output of this process. */
export class ShellCommand {
  readonly #child: ChildProcess;
  readonly #exitCode: Promise<number>;

  constructor(command: string, cwd: string, env: NodeJS.ProcessEnv) {
    this.#child = spawn("bash", ["-c", command], { cwd, env, detached: true, stdio: ["ignore", "inherit", "inherit"] });
    this.#exitCode = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code) => resolve(code ?? 1));
    });
  }

  /** Resolves with the exit code. After `limitMs` the command is killed, and the code is 124, as with `timeout`. */
  async exitCode(limitMs: number): Promise<number> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.kill();
    }, limitMs);
    const code = await this.#exitCode;
    clearTimeout(timer);
    return isLate ? 124 : code;
  }

  /** Kills the command and all processes of its group. */
  kill(): void {
    if (this.#child.pid === undefined || this.#child.exitCode !== null) return;
    process.kill(-this.#child.pid, "SIGKILL");
  }
}

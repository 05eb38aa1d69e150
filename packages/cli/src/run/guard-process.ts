import { spawn, type ChildProcess } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { BackupGuard } from "./backup-guard.ts";
import { ASKED, DONE, type GuardOrder } from "./guard-order.ts";
import { hasLasted, machineNow, type MachineInstant } from "./machine-clock.ts";

/**
 * Starts the guard of one term and the backup guard behind it, and sends the guard its orders. Both have sessions of their own
 * and run in `/`. They inherit only `PATH` from the environment, and no options of Node.
 */
export class GuardProcess {
  /** Resolves with the reason once the guard has ended, cannot be started, or does not answer. */
  readonly lost: Promise<string>;
  readonly #child: ChildProcess;
  readonly #backup: BackupGuard;
  readonly #lose: (why: string) => void;
  /** The callbacks of the orders without an answer, the oldest first. */
  readonly #waiting: Array<() => void> = [];
  readonly #patienceMs: number;
  #seq = 0;
  #isUp = false;
  #hasAsked = false;
  #unread = "";
  /** Since when the guard owes an answer. Undefined once it has answered the newest order. */
  #unansweredSince: MachineInstant | undefined;

  /**
   * Starts both. The answer to an order shows that the guard runs; `lost` resolves if it does not.
   * @param patienceMs how long the guard may leave an order unanswered before it counts as frozen.
   * @throws if the system has no memory, or no more processes.
   */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.lost = promise;
    this.#lose = resolve;
    this.#backup = new BackupGuard();
    this.#child = this.#spawn();
  }

  /**
   * True if the guard has announced that it asks CMD to end, and still runs. Once an answer has been read, every announcement
   * before it has been read too. A guard that has ended since may have ended before it asked, so it does not count.
   */
  get hasAsked(): boolean {
    return this.#hasAsked && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Sends the guard an order that replaces the one before. Resolves once the guard has answered it. */
  async order(order: Omit<GuardOrder, "seq">): Promise<void> {
    this.#seq += 1;
    const now = machineNow();
    if (hasLasted(this.#unansweredSince, this.#patienceMs, now)) this.#lose("does not answer");
    // `patienceMs` counts only after the first answer. Until then, the caller decides how long it waits.
    if (this.#isUp) this.#unansweredSince ??= now;
    this.#write(JSON.stringify({ seq: this.#seq, ...order } satisfies GuardOrder));
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Ends both. Called when no process of the term is left. */
  dismiss(): void {
    this.#write(DONE);
    this.#child.stdin?.end();
    this.#backup.dismiss();
  }

  #spawn(): ChildProcess {
    const here = fileURLToPath(import.meta.url);
    // Tests run the guard from its TypeScript source. Node 22.13, the oldest supported version, strips types only with this
    // option.
    const isSource = extname(here) === ".ts";
    const nodeOptions = isSource && process.features.typescript === false ? ["--experimental-strip-types"] : [];
    const program = fileURLToPath(new URL(`./guard${extname(here)}`, import.meta.url));
    const { PATH } = process.env;
    try {
      const child = spawn(process.execPath, [...nodeOptions, program], {
        detached: true,
        cwd: "/",
        env: { PATH },
        stdio: ["pipe", "pipe", "ignore", this.#backup.input],
      });
      this.#backup.leaveToGuard();
      child.once("error", (error: NodeJS.ErrnoException) => this.#lose(`cannot be started (${error.code})`));
      child.once("exit", (code, signal) => this.#lose(`has ended (${signal ?? `exit code ${code}`})`));
      // Without free file descriptors there are no pipes.
      const { stdin, stdout }: Partial<ChildProcess> = child;
      stdin?.on("error", () => {});
      stdout?.setEncoding("utf8").on("data", (text: string) => this.#hear(text));
      return child;
    } catch (error) {
      this.#backup.dismiss();
      // The system has no memory, or no more processes.
      throw new Error(`cannot be started (${(error as NodeJS.ErrnoException).code})`, { cause: error });
    }
  }

  #hear(text: string): void {
    const lines = `${this.#unread}${text}`.split("\n");
    this.#unread = lines.pop() as string;
    for (const line of lines) {
      this.#isUp = true;
      if (line === ASKED) {
        this.#hasAsked = true;
        continue;
      }
      if (line === String(this.#seq)) this.#unansweredSince = undefined;
      this.#waiting.shift()?.();
    }
  }

  #write(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }
}

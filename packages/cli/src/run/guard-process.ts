import { spawn, type ChildProcess } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { BackupGuard } from "./backup-guard.ts";
import { ASKED, DONE, type GuardOrder } from "./guard-order.ts";
import { hasLasted, machineNow, type MachineInstant } from "./machine-clock.ts";

/**
 * The dead man's switch of one term: the guard, as its wrapper sees it, and the backup guard behind it. Both are in sessions of
 * their own, hold no folder, and inherit no options of Node's and no environment but the path.
 */
export class GuardProcess {
  /** Resolves with why, once there is no guard any more, or none that answers. */
  readonly lost: Promise<string>;
  readonly #child: ChildProcess;
  readonly #backup: BackupGuard;
  readonly #lose: (why: string) => void;
  /** Whoever waits for the answers to the orders that have none yet, in their order. */
  readonly #waiting: Array<() => void> = [];
  readonly #patienceMs: number;
  #seq = 0;
  #isUp = false;
  #hasAsked = false;
  #unread = "";
  /** When the first order was given that it has not answered. */
  #unansweredSince: MachineInstant | undefined;

  /**
   * Starts it. Whether it could be started, the answer to an order and `lost` tell.
   * @param patienceMs how long it may leave an order unanswered before it counts as frozen.
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
   * Whether it has asked CMD to end, or does so now, as far as has been read: what it asked before it answered an order has been. If
   * it has ended since, it may have been before it asked.
   */
  get hasAsked(): boolean {
    return this.#hasAsked && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Gives it a new order in place of the one before. Resolves once it has answered that. */
  async order(order: Omit<GuardOrder, "seq">): Promise<void> {
    this.#seq += 1;
    const now = machineNow();
    if (hasLasted(this.#unansweredSince, this.#patienceMs, now)) this.#lose("does not answer");
    // Until it is up, who waits for its first answer decides how long.
    if (this.#isUp) this.#unansweredSince ??= now;
    this.#write(JSON.stringify({ seq: this.#seq, ...order } satisfies GuardOrder));
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Lets both go: every process of the term is gone. */
  dismiss(): void {
    this.#write(DONE);
    this.#child.stdin?.end();
    this.#backup.dismiss();
  }

  #spawn(): ChildProcess {
    const here = fileURLToPath(import.meta.url);
    // From the sources, as in tests, it is TypeScript; Node 22.13, the oldest supported, strips types on request only.
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
      // There are no pipes where there are no more file descriptors.
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

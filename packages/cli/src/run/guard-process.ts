import { spawn, type ChildProcess } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "@leasehold/core/provider";
import { BackupGuard } from "./backup-guard.ts";
import { DONE, type GuardOrder } from "./guard-order.ts";
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
  /** The orders without an answer, the oldest first. */
  #waiting: ReadonlyArray<{ readonly since: MachineInstant; readonly answered: () => void }> = [];
  readonly #patienceMs: number;
  #seq = 0;
  #isUp = false;
  #isLost = false;
  #unread = "";

  /**
   * Starts both. The answer to an order shows that the guard runs; `lost` resolves if it does not.
   * @param patienceMs how long the guard may leave an order unanswered before it counts as frozen.
   * @throws if the system has no memory, or no more processes.
   */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.lost = promise;
    this.#lose = (why) => {
      this.#isLost = true;
      resolve(why);
    };
    this.#backup = new BackupGuard();
    this.#child = this.#spawn();
  }

  /** Resolves if a signal has killed the backup guard. */
  get backupKilled(): Promise<NodeJS.Signals> {
    return this.#backup.killed;
  }

  /** True once `lost` has resolved. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Sends the guard an order that replaces the one before. Resolves once the guard has answered it. */
  async order(order: Omit<GuardOrder, "seq">): Promise<void> {
    this.#seq += 1;
    void this.#loseIfSilent();
    // Do not wait for the next order, because the backup guard may kill the command before that.
    systemClock.setTimer(() => void this.#loseIfSilent(), this.#patienceMs + 1);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting = [...this.#waiting, { since: machineNow(), answered: resolve }];
    this.#write(JSON.stringify({ seq: this.#seq, ...order } satisfies GuardOrder));
    await promise;
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
    for (const _line of lines) {
      const [first, ...later] = this.#waiting;
      first?.answered();
      // `patienceMs` counts only after the first answer. Until then, the caller decides how long it waits.
      this.#waiting = this.#isUp ? later : later.map((order) => ({ ...order, since: machineNow() }));
      this.#isUp = true;
    }
  }

  async #loseIfSilent(): Promise<void> {
    const isSilent = (): boolean => this.#isUp && hasLasted(this.#waiting[0]?.since, this.#patienceMs, machineNow());
    // After a stall of this process, timers run before the guard's answers are read. Two turns of the event loop let them be read.
    for (let turns = 0; turns < 2 && isSilent(); turns += 1) {
      // oxlint-disable-next-line no-restricted-globals -- whatever the clock
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (isSilent()) this.#lose("does not answer");
  }

  #write(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }
}

import { spawn, type ChildProcess } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { DONE, type GuardOrder } from "./guard-order.ts";
import { LastGuard } from "./last-guard.ts";
import { hasLasted, machineNow, type MachineInstant } from "./machine-clock.ts";
import type { GroupLeader } from "./process-table.ts";

/**
 * The dead man's switch of one term: the guard, as its wrapper sees it, and the last guard behind it. Both are in sessions of
 * their own, hold no folder, and inherit no options of Node's and no environment but the path.
 */
export class GuardProcess {
  /** Resolves with why, once there is no guard any more, or none that answers. */
  readonly lost: Promise<string>;
  readonly #child: ChildProcess;
  readonly #last: LastGuard;
  readonly #lose: (why: string) => void;
  readonly #answered = Promise.withResolvers<void>();
  readonly #patienceMs: number;
  #seq = 0;
  #isUp = false;
  /** When the first order was given that it has not answered. */
  #unansweredSince: MachineInstant | undefined;

  /**
   * Starts it. Whether it could be started, `answered` and `lost` tell.
   * @param patienceMs how long it may leave an order unanswered before it counts as frozen.
   */
  constructor(termId: string, patienceMs: number) {
    this.#patienceMs = patienceMs;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.lost = promise;
    this.#lose = resolve;
    this.#last = new LastGuard(termId);
    this.#child = this.#spawn();
  }

  /** Resolves once it has heard an order. */
  get answered(): Promise<void> {
    return this.#answered.promise;
  }

  /** Gives it a new order in place of the one before. */
  order(order: Omit<GuardOrder, "seq">): void {
    this.#seq += 1;
    const now = machineNow();
    if (hasLasted(this.#unansweredSince, this.#patienceMs, now)) this.#lose("does not answer");
    // Until it is up, who waits for its first answer decides how long.
    if (this.#isUp) this.#unansweredSince ??= now;
    this.#write(JSON.stringify({ seq: this.#seq, ...order } satisfies GuardOrder));
  }

  /** CMD has been started. */
  learn(leader: GroupLeader): void {
    this.#last.learn(leader);
  }

  /** Lets both go: every process of the term is gone. */
  dismiss(): void {
    this.#write(DONE);
    this.#child.stdin?.end();
    this.#last.dismiss();
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
        stdio: ["pipe", "pipe", "ignore", this.#last.input],
      });
      child.once("error", (error: NodeJS.ErrnoException) => this.#lose(`cannot be started (${error.code})`));
      child.once("exit", (code, signal) => this.#lose(`has ended (${signal ?? `exit code ${code}`})`));
      // There are no pipes where there are no more file descriptors.
      const { stdin, stdout }: Partial<ChildProcess> = child;
      stdin?.on("error", () => {});
      stdout?.setEncoding("utf8").on("data", (text: string) => this.#hear(text));
      return child;
    } catch (error) {
      this.#last.dismiss();
      // The system has no memory, or no more processes.
      throw new Error(`cannot be started (${(error as NodeJS.ErrnoException).code})`, { cause: error });
    }
  }

  #hear(text: string): void {
    this.#answered.resolve();
    this.#isUp = true;
    if (text.endsWith(`${this.#seq}\n`)) this.#unansweredSince = undefined;
  }

  #write(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }
}

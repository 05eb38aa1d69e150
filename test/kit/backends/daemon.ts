import { fileURLToPath } from "node:url";
import type { DaemonOrder, DaemonPlan, DaemonServes } from "./daemon-keeper.ts";
import { nodeArguments, nodeExecutable, OwnedProcess } from "../processes/owned-process.ts";
import { processState } from "../processes/process-state.ts";
import { pauseTree, signalAll } from "../processes/process-tree.ts";

/**
 * A service that is a separate program, with processes and a data directory of its own. None of these outlives this process,
 * however this process ends.
 */
export interface Daemon extends AsyncDisposable {
  /** The port on 127.0.0.1. */
  readonly port: number;
  /** The id of the process that serves, or of the first of several. */
  readonly pid: number;
  /**
   * Pauses all its processes (SIGSTOP): connections stay open, and get no answer. Resolves once they have stopped.
   * @throws if it has ended.
   */
  pause(): Promise<void>;
  /** Lets paused processes continue (SIGCONT), with the requests that have arrived meanwhile. */
  resume(): void;
  /**
   * Kills all its processes, as a machine that fails would, and keeps its data. Resolves once they are gone.
   * @throws if it has ended.
   */
  kill(): Promise<void>;
  /**
   * Starts a killed daemon again, with its data and its port. Resolves once it serves.
   * @throws an error with its stderr, if it does not.
   */
  restart(): Promise<void>;
  /** Kills all its processes, waits for their end, and removes its data. May be called again. */
  stop(): Promise<void>;
}

/**
 * Starts the daemon of `plan`, on a free port and with a fresh data directory.
 * @throws an error with what its programs wrote to stderr, if one of them ends or takes too long before it serves.
 */
export async function startDaemon(name: string, plan: DaemonPlan): Promise<Daemon> {
  const script = fileURLToPath(new URL("./daemon-keeper.ts", import.meta.url));
  const keeper = new OwnedProcess({
    name,
    command: nodeExecutable(),
    args: nodeArguments(script, [JSON.stringify(plan)]),
    cleansUp: true,
  });
  return new KeptDaemon(keeper, await keeper.firstMessage<DaemonServes>());
}

class KeptDaemon implements Daemon {
  readonly port: number;
  readonly #keeper: OwnedProcess;
  #pid: number;
  #paused: readonly number[] = [];

  constructor(keeper: OwnedProcess, { port, pid }: DaemonServes) {
    this.#keeper = keeper;
    this.port = port;
    this.#pid = pid;
  }

  get pid(): number {
    return this.#pid;
  }

  async pause(): Promise<void> {
    if (this.#keeper.hasEnded) throw this.#keeper.ended();
    this.#paused = await pauseTree(this.pid);
    if ((await processState(this.pid)) === "gone") throw this.#keeper.ended();
  }

  resume(): void {
    if (!this.#keeper.hasEnded) signalAll(this.#paused, "SIGCONT");
    this.#paused = [];
  }

  async kill(): Promise<void> {
    await this.#order("kill");
  }

  async restart(): Promise<void> {
    this.#pid = (await this.#order("start")).pid;
  }

  async stop(): Promise<void> {
    await this.#keeper.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #order(order: DaemonOrder): Promise<DaemonServes> {
    if (this.#keeper.hasEnded) throw this.#keeper.ended();
    const answer = this.#keeper.nextMessage<DaemonServes>();
    await this.#keeper.send(order);
    return await answer;
  }
}

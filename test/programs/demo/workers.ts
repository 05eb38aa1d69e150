import { LineProcess } from "@leasehold/test-kit/processes/line-process";
import type { DemoEvent } from "./demo-event.ts";
import type { Seat } from "@leasehold/test-kit/stores/test-store";
import type { EventLog } from "./event-log.ts";
import { STAND_STILL, type WorkerSettings } from "./worker-settings.ts";

interface Running {
  /** The worker's own place, if the store needs one for each worker. Undefined after a kill. */
  seat: Seat | undefined;
  readonly process: LineProcess<DemoEvent>;
  /** True: the demo has asked for its end. */
  doomed: boolean;
}

export interface WorkersOptions {
  readonly log: EventLog;
  readonly settings: Omit<WorkerSettings, "candidateId" | "originMs">;
  /** The places of the workers, if each worker needs one of its own. */
  readonly seats?: readonly Seat[] | undefined;
  /** Called when a worker ends that the demo did not ask to end. */
  readonly onCrash: (error: Error) => void;
}

/** The worker processes. It starts them, kills, freezes or cuts them off, and ends all of them at its disposal. */
export class Workers implements AsyncDisposable {
  readonly #options: WorkersOptions;
  readonly #running = new Map<string, Running>();
  #started = 0;

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** Starts one more worker, as an orchestrator would. Returns its candidate id. */
  start(): string {
    const { log, settings, seats } = this.#options;
    this.#started += 1;
    const candidateId = `worker-${this.#started}`;
    const taken = new Set([...this.#running.values()].map((each) => each.seat));
    const seat = seats?.find((each) => !taken.has(each));
    if (seats && !seat) throw new Error("Every place is taken.");
    const process = new LineProcess<DemoEvent>({
      program: new URL("./worker.ts", import.meta.url),
      settings: {
        ...settings,
        store: seat?.settings ?? settings.store,
        candidateId,
        originMs: log.originMs,
      } satisfies WorkerSettings,
      onLine: (event) => log.add(event),
      onEnd: ({ code, signal }) => {
        this.#running.delete(candidateId);
        log.note("exited", candidateId, { code, signal });
        // Ctrl-C reaches every process of the terminal, and the demo handles its own signal.
        if (running.doomed || signal === "SIGINT") return;
        const how = signal ?? `exit code ${code}`;
        this.#options.onCrash(new Error(`${candidateId} ended by itself (${how}).`, { cause: process.stderr.slice(-4_000) }));
      },
    });
    const running: Running = { seat, process, doomed: false };
    this.#running.set(candidateId, running);
    log.note("spawned", candidateId, { pid: process.pid });
    return candidateId;
  }

  /** Asks a worker to stop itself the next time that it leads and has no pending request. */
  standStill(candidateId: string): void {
    this.#get(candidateId).process.send(STAND_STILL);
  }

  /** Sends SIGKILL: the worker ends at once, without any cleanup. */
  kill(candidateId: string): void {
    const running = this.#get(candidateId);
    running.doomed = true;
    running.seat = undefined;
    this.#note("killed", candidateId);
    running.process.signal("SIGKILL");
  }

  /** Sends SIGTERM, which asks the worker to end. */
  terminate(candidateId: string): void {
    const running = this.#get(candidateId);
    running.doomed = true;
    this.#note("terminated", candidateId);
    running.process.signal("SIGTERM");
  }

  /**
   * Resolves once the worker has stopped itself. This class sends no SIGSTOP: it could arrive just before the worker stops
   * itself, and the worker would stop a second time after SIGCONT.
   */
  async stopped(candidateId: string): Promise<void> {
    await this.#get(candidateId).process.stopped();
    this.#note("paused", candidateId);
  }

  /** Sends SIGCONT: the worker goes on where it stopped. */
  resume(candidateId: string): void {
    const { process } = this.#get(candidateId);
    this.#note("resumed", candidateId);
    process.thaw();
  }

  /** Stops all messages between a worker and the others. */
  cutOff(candidateId: string): void {
    this.#note("cut-off", candidateId);
    for (const link of this.#linksOf(candidateId)) {
      link.loseRequests();
      link.loseReplies();
    }
  }

  rejoin(candidateId: string): void {
    this.#note("rejoined", candidateId);
    for (const link of this.#linksOf(candidateId)) link.heal();
  }

  /** Kills all workers, also frozen ones, and waits until the system reports their end. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      [...this.#running.values()].map(async (running) => {
        running.doomed = true;
        await running.process.end();
      }),
    );
  }

  #linksOf(candidateId: string): Seat["links"] {
    return this.#get(candidateId).seat?.links ?? [];
  }

  #note(event: "killed" | "terminated" | "paused" | "resumed" | "cut-off" | "rejoined", candidateId: string): void {
    const { log } = this.#options;
    log.note(event, candidateId, {}, log.termOf(candidateId));
  }

  #get(candidateId: string): Running {
    const running = this.#running.get(candidateId);
    if (!running) throw new Error(`${candidateId} does not run any more.`);
    return running;
  }
}

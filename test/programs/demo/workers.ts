import { LineProcess } from "@leasehold/test-kit/processes/line-process";
import type { DemoEvent } from "./demo-event.ts";
import type { Seat } from "@leasehold/test-kit/stores/test-store";
import type { EventLog } from "./event-log.ts";
import { STAND_STILL, type WorkerSettings } from "./worker-settings.ts";

interface Running {
  /** The place that it has, where each needs one; until it is killed. */
  seat: Seat | undefined;
  readonly process: LineProcess<DemoEvent>;
  /** The demo has asked for its end. */
  doomed: boolean;
}

export interface WorkersOptions {
  readonly log: EventLog;
  readonly settings: Omit<WorkerSettings, "candidateId" | "originMs">;
  /** Where each worker needs a place to itself. */
  readonly seats?: readonly Seat[] | undefined;
  /** Called when a worker ends that nobody asked to. */
  readonly onCrash: (error: Error) => void;
}

/** The worker processes: starts them, does to them what the world does, and leaves none behind. */
export class Workers implements AsyncDisposable {
  readonly #options: WorkersOptions;
  readonly #running = new Map<string, Running>();
  #started = 0;

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** Starts one more worker, as an orchestrator would; returns its candidate id. */
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
        // Ctrl-C reaches every process of the terminal, and the demo has its own part of it.
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

  /** Asks it to stop itself, the next time that it leads and has no request under way. */
  standStill(candidateId: string): void {
    this.#get(candidateId).process.send(STAND_STILL);
  }

  /** SIGKILL: it ends at once, and cannot do anything about it. */
  kill(candidateId: string): void {
    const running = this.#get(candidateId);
    running.doomed = true;
    running.seat = undefined;
    this.#note("killed", candidateId);
    running.process.signal("SIGKILL");
  }

  /** SIGTERM: asks it to end. */
  terminate(candidateId: string): void {
    const running = this.#get(candidateId);
    running.doomed = true;
    this.#note("terminated", candidateId);
    running.process.signal("SIGTERM");
  }

  /**
   * Resolves once the worker has stopped itself. A signal from here might meet it right before it does so: then it would stop a
   * second time after it was resumed.
   */
  async stopped(candidateId: string): Promise<void> {
    await this.#get(candidateId).process.stopped();
    this.#note("paused", candidateId);
  }

  /** SIGCONT: it goes on where it stood. */
  resume(candidateId: string): void {
    const { process } = this.#get(candidateId);
    this.#note("resumed", candidateId);
    process.thaw();
  }

  /** Nothing passes between it and the others any more. */
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

  /** Kills them all, the frozen too, and waits until the system says that they have ended. */
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

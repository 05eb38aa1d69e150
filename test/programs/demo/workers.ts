import { fork, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { reachesState } from "@leasehold/test-kit/processes/process-state";
import type { DemoEvent } from "./demo-event.ts";
import type { EventLog } from "./event-log.ts";
import { STAND_STILL, workerEnvironment, type WorkerSettings } from "./worker-settings.ts";

const PROGRAM = fileURLToPath(new URL("./worker.ts", import.meta.url));

interface Running {
  readonly child: ChildProcess;
  /** The demo has asked for its end. */
  doomed: boolean;
  /** Ends the worker if the demo dies while it is frozen and cannot notice that. */
  guard?: ChildProcess | undefined;
}

export interface WorkersOptions {
  readonly log: EventLog;
  readonly settings: Omit<WorkerSettings, "candidateId" | "originMs">;
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
    const { log, settings } = this.#options;
    this.#started += 1;
    const candidateId = `worker-${this.#started}`;
    const child = fork(PROGRAM, [], {
      execArgv: ["--conditions=@leasehold/source"],
      env: { ...process.env, ...workerEnvironment({ ...settings, candidateId, originMs: log.originMs }) },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    const running: Running = { child, doomed: false };
    this.#running.set(candidateId, running);
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-4_000);
    });
    child.on("message", (event: DemoEvent) => log.add(event));
    child.once("spawn", () => log.note("spawned", candidateId, { pid: child.pid ?? 0 }));
    child.once("error", (error) => this.#options.onCrash(error));
    // After "exit", with everything read that it said.
    child.once("close", (code, signal) => {
      this.#running.delete(candidateId);
      running.guard?.kill("SIGKILL");
      log.note("exited", candidateId, { code, signal });
      // Ctrl-C reaches every process of the terminal, and the demo has its own part of it.
      if (running.doomed || signal === "SIGINT") return;
      this.#options.onCrash(new Error(`${candidateId} ended by itself (${signal ?? `exit code ${code}`}).`, { cause: stderr }));
    });
    return candidateId;
  }

  /** Resolves when it has no request under way, and sends none for a moment. */
  async standStill(candidateId: string): Promise<void> {
    const { log } = this.#options;
    const from = log.length;
    this.#get(candidateId).child.send(STAND_STILL);
    await log.next({ what: `${candidateId} to be between two requests`, event: "stands-still", of: candidateId, from });
  }

  /** SIGKILL: it ends at once, and cannot do anything about it. */
  kill(candidateId: string): void {
    const running = this.#get(candidateId);
    running.doomed = true;
    this.#note("killed", candidateId);
    running.child.kill("SIGKILL");
  }

  /** SIGTERM: asks it to end. */
  terminate(candidateId: string): void {
    const running = this.#get(candidateId);
    running.doomed = true;
    this.#note("terminated", candidateId);
    running.child.kill("SIGTERM");
  }

  /** SIGSTOP: it stands still, wherever it is, and does not know it. */
  async pause(candidateId: string): Promise<void> {
    const running = this.#get(candidateId);
    const pid = running.child.pid ?? 0;
    running.guard = killOnceOrphaned(pid);
    running.child.kill("SIGSTOP");
    // The signal takes effect a little after `kill` returns.
    await reachesState(pid, "stopped", "gone");
    this.#note("paused", candidateId);
  }

  /** SIGCONT: it goes on where it stood. */
  resume(candidateId: string): void {
    const running = this.#get(candidateId);
    this.#note("resumed", candidateId);
    running.child.kill("SIGCONT");
    running.guard?.kill("SIGKILL");
    running.guard = undefined;
  }

  /** Kills them all, the frozen too, and waits until the system says that they have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      [...this.#running.values()].map(async (running) => {
        running.doomed = true;
        const { child } = running;
        if (child.pid === undefined) return;
        const closed = once(child, "close");
        child.kill("SIGKILL");
        await closed;
      }),
    );
  }

  #note(event: "killed" | "terminated" | "paused" | "resumed", candidateId: string): void {
    const { log } = this.#options;
    log.note(event, candidateId, {}, log.termOf(candidateId));
  }

  #get(candidateId: string): Running {
    const running = this.#running.get(candidateId);
    if (!running) throw new Error(`${candidateId} does not run any more.`);
    return running;
  }
}

/** A shell that waits for the end of this process, which closes its standard input, and then kills `pid`. */
function killOnceOrphaned(pid: number): ChildProcess {
  return spawn("/bin/sh", ["-c", 'trap "" INT TERM HUP; read -r _; kill -KILL "$0"', String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
  });
}

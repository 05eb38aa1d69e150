import { LineProcess } from "@leasehold/test-kit/processes/line-process";
import type { Delivery, WorkerLine, WorkerSettings } from "./delivery.ts";

/** The listener of the process that starts a worker. */
export interface WorkerListener {
  said(line: WorkerLine): void;
  /** All its lines have arrived. It ended at `atMs`, and was killed or not. */
  ended(atMs: number, killed: boolean): void;
}

/** A process that runs `worker.ts`. */
export class WorkerProcess {
  readonly name: string;
  /** Resolves once it takes deliveries. @throws if it ends before. */
  readonly ready: Promise<void>;
  /** The number of deliveries that it has, counted by the sender. */
  busy = 0;
  readonly #process: LineProcess<WorkerLine>;

  constructor(name: string, settings: WorkerSettings, listener: WorkerListener) {
    this.name = name;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ready = promise;
    // A rejection must not be unhandled if nothing awaits it when the process is killed.
    promise.catch(() => undefined);
    this.#process = new LineProcess<WorkerLine>({
      program: new URL("./worker.ts", import.meta.url),
      settings,
      onLine: (line) => {
        if (line.event === "ready") resolve();
        listener.said(line);
      },
      onEnd: ({ atMs, signal }) => {
        reject(new Error(`${name} has ended before it was ready.\n${this.stderr}`));
        listener.ended(atMs, signal === "SIGKILL");
      },
    });
  }

  /** Its stderr, which is normally empty. */
  get stderr(): string {
    return this.#process.stderr;
  }

  get hasEnded(): boolean {
    return this.#process.hasEnded;
  }

  send(delivery: Delivery): void {
    this.#process.send(delivery);
  }

  /** Kills it, if it still runs. */
  async kill(): Promise<void> {
    await this.#process.end();
  }
}

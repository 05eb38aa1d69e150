import type { Outcome, WorkerLine } from "./delivery.ts";

/** The known facts of one delivery, by its worker's reports and the end of its process. Every time is by the host's clock. */
export interface DeliveryLog {
  readonly id: string;
  /** The election or the occurrence that it competed for, by the store's name. */
  readonly election: string;
  /** The process that got it. */
  readonly worker: string;
  readonly sentMs: number;
  acquired?: { readonly term: number; readonly grantedMs: number; readonly atMs: number };
  started?: { readonly term: number; readonly atMs: number };
  /** The time until which its leadership is valid, by its own last report. */
  validUntilMs?: number;
  returnedMs?: number;
  released?: { readonly atMs: number; readonly ok: boolean };
  settled?: { readonly atMs: number; readonly outcome: Outcome; readonly error?: string | undefined };
  /** The time at which its process ended before the delivery settled. */
  diedMs?: number;
}

/** A write with an unknown outcome. */
export interface FailedWrite {
  readonly election: string;
  readonly atMs: number;
  readonly outcome: string;
}

/** The moments of a delivery that can be awaited. */
export interface Moments {
  /** Its handler was called. */
  readonly started: Promise<void>;
  /** Its handler has returned or thrown. */
  readonly returned: Promise<void>;
  /** It has settled, or its process has ended. */
  readonly over: Promise<void>;
}

/** Collects all reports of workers, delivery by delivery. It never removes one. */
export class Witness {
  readonly failedWrites: FailedWrite[] = [];
  /** The faults of a worker. */
  readonly surprises: string[] = [];
  readonly #logs = new Map<string, { readonly log: DeliveryLog; readonly reach: (moment: keyof Moments) => void }>();

  get deliveries(): readonly DeliveryLog[] {
    return [...this.#logs.values()].map(({ log }) => log);
  }

  /** Begins the log of a delivery. */
  sent(log: DeliveryLog): Moments {
    if (this.#logs.has(log.id)) throw new Error(`There are two deliveries '${log.id}'.`);
    const [started, returned, over] = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
    ];
    this.#logs.set(log.id, { log, reach: (moment) => ({ started, returned, over })[moment].resolve() });
    return { started: started.promise, returned: returned.promise, over: over.promise };
  }

  heard(name: string, line: WorkerLine): void {
    const { event, atMs } = line;
    if (event === "ready") return;
    if (event === "writeFailed") {
      this.failedWrites.push({ election: line.election, atMs, outcome: line.outcome });
      return;
    }
    const { log, reach } = this.#logs.get(line.delivery) ?? {};
    if (!log || log.worker !== name) {
      this.surprises.push(`${name} said '${event}' of ${line.delivery}, which it did not get`);
      return;
    }
    if (event === "acquired") {
      if (log.acquired) this.surprises.push(`${log.id} has acquired twice`);
      log.acquired = { term: line.term, grantedMs: line.grantedMs, atMs };
    } else if (event === "started") {
      if (log.started) this.surprises.push(`the handler of ${log.id} was called twice`);
      log.started = { term: line.term, atMs };
      log.validUntilMs = line.validUntilMs;
      reach?.("started");
    } else if (event === "renewed") log.validUntilMs = line.validUntilMs;
    else if (event === "returned") {
      log.returnedMs = atMs;
      reach?.("returned");
    } else if (event === "released") log.released = { atMs, ok: line.ok };
    else {
      log.settled = { atMs, outcome: line.outcome, error: line.error };
      reach?.("over");
    }
  }

  /** @param stderr of a process that was not killed. */
  ended(name: string, atMs: number, stderr: string | undefined): void {
    if (stderr !== undefined) this.surprises.push(`${name} has ended by itself: ${stderr}`);
    for (const { log, reach } of this.#logs.values()) {
      if (log.worker !== name || log.settled) continue;
      log.diedMs = atMs;
      reach("over");
    }
  }
}

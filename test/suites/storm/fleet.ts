import { setTimeout as delay } from "node:timers/promises";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import { inTurn } from "@leasehold/test-kit/candidates/turns";
import type { Delivery, SelfDeath, WorkerSettings } from "./delivery.ts";
import { Witness, type DeliveryLog, type Moments } from "./witness.ts";
import { WorkerProcess } from "./worker-process.ts";

/** A delivery that has neither settled nor died after this time hangs. It is ten times the platform's limit. */
const HUNG_MS = 300_000;

/** The number of deliveries that a process takes at a time. Some platforms let instances share, but a death must not hit all. */
const CONCURRENCY = 2;

/**
 * The moment at which the process of a delivery is killed. If the moment does not come, as for a delivery that does not lead, the
 * process is killed `afterMs` after the delivery has settled.
 */
export interface PlannedDeath {
  readonly at: "claim" | "handler" | "return" | SelfDeath;
  /** The time after the delivery was sent (`claim`), or its handler returned (`return`). */
  readonly afterMs: number;
  /** The part of its work that the handler has done then (`handler`), from 0 to 1. */
  readonly workDone: number;
}

/** A worker's place, which one process after another takes. */
interface Post {
  readonly name: string;
  /** The number of processes that it has had. */
  processes: number;
  /** The process that takes deliveries there. It is undefined while it is being replaced. */
  present: WorkerProcess | undefined;
}

/** Workers, each with a process that another one replaces when it ends. All of them end with this process. */
export class Fleet implements AsyncDisposable {
  readonly witness = new Witness();
  /** The number of processes that were killed. */
  killed = 0;
  readonly #posts: readonly Post[];
  readonly #processes: WorkerProcess[] = [];
  readonly #deaths = new Set<Promise<void>>();
  #change = Promise.withResolvers<void>();
  #broken: Error | undefined;
  #isEnding = false;

  readonly #settings: WorkerSettings;

  private constructor(count: number, settings: WorkerSettings) {
    this.#settings = settings;
    this.#posts = Array.from({ length: count }, (_, at) => ({ name: "abcdefgh"[at]!, processes: 0, present: undefined }));
  }

  /** Resolves when every worker takes deliveries. */
  static async gather(count: number, settings: WorkerSettings): Promise<Fleet> {
    const fleet = new Fleet(count, settings);
    try {
      await Promise.all(fleet.#posts.map(async (post) => fleet.#staff(post)));
      return fleet;
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Sends a delivery to the worker at this place. If that one is busy or being replaced, another one gets it, as soon as one is
   * free. Resolves when the delivery has settled, or died with its process.
   * @param election the store's name of the election.
   * @throws if it hangs.
   */
  async deliver(place: number, delivery: Delivery, election: string, death?: PlannedDeath): Promise<DeliveryLog> {
    const process = await this.#free(place);
    const log: DeliveryLog = { id: delivery.id, election, worker: process.name, sentMs: hostMs() };
    const moments = this.witness.sent(log);
    const diesOnce = death?.at === "acquired" || death?.at === "released" ? death.at : undefined;
    process.send({ ...delivery, diesOnce });
    if (death) this.#bury(this.#kill(process, death, delivery.workMs, moments));
    const giveUp = new AbortController();
    const hung = delay(HUNG_MS, true, { signal: giveUp.signal }).catch(() => false);
    if (await Promise.race([moments.over.then(() => false), hung])) {
      throw new Error(`A delivery has neither settled nor died: ${JSON.stringify(log)}`);
    }
    giveUp.abort();
    process.busy -= 1;
    this.#changed();
    return log;
  }

  /** Resolves when every planned death has happened. */
  async deathsAreOver(): Promise<void> {
    while (this.#deaths.size > 0) await Promise.all(this.#deaths);
  }

  /** The workers' stderr, which is normally empty. */
  get stderr(): string {
    return this.#processes.map(({ stderr }) => stderr).join("");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#processes.map(async (process) => process.kill()));
  }

  /** Returns a process that is free, and counts the new delivery. */
  async #free(place: number): Promise<WorkerProcess> {
    // The places after it, in a circle.
    const posts = [...this.#posts.slice(place), ...this.#posts.slice(0, place)];
    for (;;) {
      if (this.#broken) throw this.#broken;
      const free = posts.find(({ present }) => present && !present.hasEnded && present.busy < CONCURRENCY)?.present;
      if (free) {
        free.busy += 1;
        return free;
      }
      await this.#change.promise;
    }
  }

  /** Starts a process there. Resolves when it takes deliveries. */
  async #staff(post: Post): Promise<void> {
    await inTurn(async () => {
      if (this.#isEnding) return;
      post.processes += 1;
      const name = `${post.name}${post.processes}`;
      const process = new WorkerProcess(name, this.#settings, {
        said: (line) => this.witness.heard(name, line),
        ended: (atMs, killed) => {
          if (!this.#isEnding) this.killed += 1;
          this.witness.ended(name, atMs, killed ? undefined : process.stderr);
          post.present = undefined;
          if (!this.#isEnding) this.#staff(post).catch((error: unknown) => this.#break(error));
        },
      });
      this.#processes.push(process);
      await process.ready;
      post.present = process;
      this.#changed();
    });
  }

  /** Wakes every wait for a free process, which then checks again. */
  #changed(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  /** A process could not be started, so end all waits for one. */
  #break(error: unknown): void {
    this.#broken ??= error as Error;
    this.#changed();
  }

  async #kill(process: WorkerProcess, { at, afterMs, workDone }: PlannedDeath, workMs: number, moments: Moments): Promise<void> {
    if (at === "claim") await delay(afterMs);
    else if (at === "handler" && (await comes(moments.started, moments.over))) await delay(workDone * workMs);
    else {
      if (at === "return") await comes(moments.returned, moments.over);
      else await moments.over;
      await delay(afterMs);
    }
    await process.kill();
  }

  #bury(dying: Promise<void>): void {
    this.#deaths.add(dying);
    void dying.finally(() => this.#deaths.delete(dying));
  }
}

/** Tells whether a moment comes before the delivery is over. */
async function comes(moment: Promise<void>, over: Promise<void>): Promise<boolean> {
  return await Promise.race([moment.then(() => true), over.then(() => false)]);
}

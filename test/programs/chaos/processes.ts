import { openLink, seatLink, type Link } from "./link.ts";
import { CandidateProcess } from "@leasehold/test-kit/candidates/candidate-process";
import type { CandidateSettings } from "@leasehold/test-kit/candidates/candidate";
import { inTurn } from "@leasehold/test-kit/candidates/turns";
import type { StoreService } from "@leasehold/test-kit/stores/test-store";
import type { WorkerLog } from "./episode-log.ts";
import type { RegisterHabits } from "@leasehold/test-kit/candidates/keep-register";
import { Leading } from "./leading.ts";

/** How many workers compete. */
export const CREW_SIZE = 5;
/** How long to wait until a process competes. */
const START_MS = 300_000;

export interface CrewSettings {
  readonly service: StoreService;
  readonly election: string;
  readonly elector: CandidateSettings["elector"];
  readonly habits: Omit<RegisterHabits, "worker" | "seed">;
  /** Returns a seed for each process. */
  readonly nextSeed: () => number;
}

/** One of the workers. It is a series of processes, one after another. */
export interface Post {
  readonly name: string;
  readonly link: Link;
  candidateId: string;
  /** How many processes it has had. */
  processes: number;
  /** Its present process; undefined before the first one. */
  process: CandidateProcess | undefined;
  isSevered: boolean;
}

/** The workers of one election. None of them outlives this process. */
export class Crew implements AsyncDisposable {
  readonly posts: readonly Post[];
  readonly #settings: CrewSettings;
  readonly #processes: Array<{
    readonly worker: string;
    readonly process: CandidateProcess;
    readonly leading: Leading;
    seen: number;
    shownMs: number;
  }> = [];

  private constructor(settings: CrewSettings, links: readonly Link[]) {
    this.#settings = settings;
    this.posts = links.map((link, at) => {
      const name = "abcde"[at]!;
      return { name, link, candidateId: name, processes: 0, process: undefined, isSevered: false };
    });
  }

  /** Starts the workers. Resolves when every worker competes. */
  static async gather(settings: CrewSettings): Promise<Crew> {
    const { settings: store, seats } = settings.service;
    const links = seats?.map(seatLink) ?? (await Promise.all(Array.from({ length: CREW_SIZE }, () => openLink(store))));
    const crew = new Crew(settings, links);
    try {
      await crew.fill();
      return crew;
    } catch (error) {
      await crew[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts a process for each worker without one. */
  async fill(): Promise<void> {
    await Promise.all(this.posts.filter((post) => !isRunning(post) && !post.isSevered).map(async (post) => this.#start(post)));
  }

  /** The worker whose process was the last to show that it leads, if it still does. */
  get leader(): Post | undefined {
    this.#look();
    const leaders = this.#processes.filter(({ leading }) => leading.leads);
    const last = leaders.toSorted((one, other) => other.shownMs - one.shownMs)[0];
    return this.posts.find(({ process }) => process !== undefined && process === last?.process);
  }

  /** Returns whether any worker has shown since then that it leads. */
  hasLedSince(sinceMs: number): boolean {
    this.#look();
    return this.#processes.some(({ shownMs }) => shownMs > sinceMs);
  }

  get logs(): readonly WorkerLog[] {
    return this.#processes.map(({ worker, process: { lines, stderr } }) => ({ worker, lines, stderr }));
  }

  /** Returns the name of a worker's present process. */
  workerOf(post: Post): string {
    return `${post.name}${post.processes}`;
  }

  /** Kills every process, and closes every link. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#processes.map(async ({ process }) => process.end()));
    await Promise.all(this.posts.map(async ({ link }) => link[Symbol.asyncDispose]()));
  }

  /** Starts a process. Resolves when it is about to compete. */
  async #start(post: Post): Promise<void> {
    const { election, elector, habits, nextSeed } = this.#settings;
    const seed = nextSeed();
    await inTurn(async () => {
      post.processes += 1;
      const worker = this.workerOf(post);
      const { candidateId, link } = post;
      const register = { ...habits, worker, seed };
      // Most workers end their terms by asking `isValid()`. Some never ask, and the elector's own timers end their terms.
      const asks = seed % 4 !== 0;
      const process = new CandidateProcess({ store: link.settings, election, candidateId, elector, register, asks });
      this.#processes.push({ worker, process, leading: new Leading(), seen: 0, shownMs: -Infinity });
      post.process = process;
      await process.said("ready", { withinMs: START_MS });
    });
  }

  /** Reads the output of the processes since the last time. */
  #look(): void {
    for (const each of this.#processes) {
      for (; each.seen < each.process.lines.length; each.seen += 1) {
        const line = each.process.lines[each.seen]!;
        if (each.leading.shows(line)) each.shownMs = line.atMs;
      }
    }
  }
}

/** Returns whether there is a process that has not ended. */
export function isRunning({ process }: Post): boolean {
  return process !== undefined && process.lines.at(-1)?.event !== "exited";
}

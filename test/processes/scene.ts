import { randomUUID } from "node:crypto";
import type { TestContext } from "vitest";
import { containerClient } from "../backends/fresh-container.ts";
import { startFaultProxy } from "../backends/fault-proxy.ts";
import type { FaultProxy } from "../backends/fault-proxy.ts";
import { CandidateProcess } from "./candidate-process.ts";
import { GUARDED_BLOB } from "./guarded-blob.ts";
import type { CandidateSettings } from "./candidate.ts";
import { printHistories, worstOverlapMs } from "./history.ts";
import type { Histories } from "./history.ts";
import { hostMs } from "./host-clock.ts";
import { inTurn } from "./turns.ts";

/** A candidate's process, and the proxy through which alone it reaches the store. */
export interface Player {
  readonly candidate: CandidateProcess;
  readonly proxy: FaultProxy;
}

export type PlayerOptions = Pick<CandidateSettings, "elector" | "asks" | "task" | "guards">;

/** One election on one Azurite, and the processes that compete in it. */
export class Scene {
  readonly election = "nightly-billing";
  readonly #storeUrl: string;
  readonly #containerName = `c-${randomUUID()}`;
  readonly #players: Player[] = [];

  /** Prints what had happened, should the test fail. */
  constructor(storeUrl: string, onTestFailed: TestContext["onTestFailed"]) {
    this.#storeUrl = storeUrl;
    onTestFailed(({ task }) => {
      const stderr = this.#players.map(({ candidate }) => candidate.stderr).join("");
      // The history is read by people who look for the cause.
      console.error(`${task.name}\n${printHistories(this.#histories)}\n${stderr}`);
    });
  }

  /** Starts candidates `a`, `b`, and so on, which all campaign at once; resolves when one leads and the others have looked. */
  async cast(count: number, options: PlayerOptions = {}): Promise<{ readonly leader: Player; readonly standbys: Player[] }> {
    const players = await Promise.all(Array.from({ length: count }, async (_, at) => this.#start("abc"[at]!, options)));
    const leader = await Promise.race(
      players.map(async (player) => {
        await player.candidate.said("taskStarted");
        return player;
      }),
    );
    const standbys = players.filter((player) => player !== leader);
    const started = leader.candidate.last("taskStarted");
    await Promise.all(standbys.map(async ({ candidate }) => candidate.said("looked", { after: started })));
    return { leader, standbys };
  }

  /** Two candidates: one leads, and the other stands by. */
  async pair(options: PlayerOptions = {}): Promise<{ readonly leader: Player; readonly standby: Player }> {
    const { leader, standbys } = await this.cast(2, options);
    return { leader, standby: standbys[0]! };
  }

  /** For how long two were valid at once, at worst, so far: 0 or less is a gap. */
  get worstOverlapMs(): number {
    return worstOverlapMs(this.#histories, hostMs());
  }

  /** What is in the guarded blob, past all proxies. */
  async guardedContent(): Promise<string> {
    const blob = containerClient(this.#storeUrl, this.#containerName).getBlobClient(GUARDED_BLOB);
    return (await blob.downloadToBuffer()).toString();
  }

  /** Kills every process, and closes every proxy. */
  async end(): Promise<void> {
    await Promise.all(this.#players.map(async ({ candidate }) => candidate.end()));
    await Promise.all(this.#players.map(async ({ proxy }) => proxy.stop()));
  }

  async #start(candidateId: string, options: PlayerOptions): Promise<Player> {
    const proxy = await startFaultProxy(this.#storeUrl);
    const place = { storeUrl: proxy.url, containerName: this.#containerName, election: this.election, candidateId };
    return await inTurn(async () => {
      const player = { candidate: new CandidateProcess({ ...options, ...place }), proxy };
      this.#players.push(player);
      await player.candidate.said("standby");
      return player;
    });
  }

  get #histories(): Histories {
    return new Map(this.#players.map(({ candidate }) => [candidate.candidateId, candidate.lines]));
  }
}

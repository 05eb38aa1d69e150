import { randomUUID } from "node:crypto";
import type { ElectorOptions } from "@leasehold/core";
import type { TestContext } from "vitest";
import { startFaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import type { FaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { azure, azureSettings } from "@leasehold/test-kit/stores/azure";
import type { CandidateProcess } from "@leasehold/test-kit/candidates/candidate-process";
import type { CandidateSettings } from "@leasehold/test-kit/candidates/candidate";
import { Cast } from "./roles.ts";
import { LEASE_MS } from "./timing.ts";

/** A candidate's process, and the proxy through which it reaches the store. It has no other way. */
export interface Player {
  readonly candidate: CandidateProcess;
  readonly proxy: FaultProxy;
}

export interface PlayerOptions extends Pick<CandidateSettings, "asks" | "task" | "guards"> {
  readonly elector?: Pick<ElectorOptions, "onOverrun" | "drainTimeoutMs"> | undefined;
}

/** One election on one Azurite, and the processes that compete in it. */
export class Scene {
  readonly election = "nightly-billing";
  readonly #storeUrl: string;
  readonly #containerName = `c-${randomUUID()}`;
  readonly #cast: Cast;
  readonly #proxies: FaultProxy[] = [];

  constructor(storeUrl: string, onTestFailed: TestContext["onTestFailed"]) {
    this.#storeUrl = storeUrl;
    this.#cast = new Cast(onTestFailed);
  }

  /** Starts candidates `a`, `b`, and so on, which all campaign at once. Resolves when one leads and the others have polled. */
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

  /** Two candidates: one leads, and the other is a standby. */
  async pair(options: PlayerOptions = {}): Promise<{ readonly leader: Player; readonly standby: Player }> {
    const { leader, standbys } = await this.cast(2, options);
    return { leader, standby: standbys[0]! };
  }

  /** See {@link Cast.faults}. */
  get faults(): readonly string[] {
    return this.#cast.faults;
  }

  /** The content of the guarded document, read without a proxy. */
  async guardedContent(): Promise<string> {
    const { document } = await azure.open(azureSettings(this.#storeUrl, this.#containerName));
    return await document(this.election).read();
  }

  /** Kills every process, and closes every proxy. */
  async end(): Promise<void> {
    await this.#cast.end();
    await Promise.all(this.#proxies.map(async (proxy) => proxy.stop()));
  }

  async #start(candidateId: string, options: PlayerOptions): Promise<Player> {
    const proxy = await startFaultProxy(this.#storeUrl);
    this.#proxies.push(proxy);
    const candidate = await this.#cast.start({
      ...options,
      store: azureSettings(proxy.url, this.#containerName),
      election: this.election,
      candidateId,
      elector: { leaseDurationMs: LEASE_MS, ...options.elector },
    });
    return { candidate, proxy };
  }
}

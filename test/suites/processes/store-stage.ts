import { randomUUID } from "node:crypto";
import type { LeaseStoreCapabilities } from "@leasehold/core";
import { afterAll, beforeAll, type TestContext } from "vitest";
import { testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import type { GuardedDocument, OpenStore, StoreService } from "@leasehold/test-kit/stores/test-store";
import type { CandidateProcess } from "@leasehold/test-kit/candidates/candidate-process";
import type { CandidateSettings } from "@leasehold/test-kit/candidates/candidate";
import { Cast } from "./cast.ts";

/**
 * What a look and an acquisition may take on a busy machine, the first ones of a process too: with the wait for the short lease, less
 * than the long one of a rolling deploy.
 */
export const FIRST_ROUND_TRIPS_MS = 1_300;
/** How soon a standby looks, at the latest, unless a test says otherwise. */
const RETRY_PERIOD_MS = 500;

export type StoreCandidateOptions = Partial<Pick<CandidateSettings, "elector" | "guards" | "task" | "triesEveryMs">>;

/** The service of one store, for all the tests of a `describe` block. */
export class StoreStage {
  readonly name: StoreName;
  readonly leaseMs: number;
  #service: StoreService | undefined;

  private constructor(name: StoreName, leaseMs: number) {
    this.name = name;
    this.leaseMs = leaseMs;
  }

  /** Registers its start and its end with Vitest. */
  static async of(name: StoreName): Promise<StoreStage> {
    const { leaseDurationMs, start } = await testStore(name);
    const stage = new StoreStage(name, leaseDurationMs);
    beforeAll(async () => {
      stage.#service = await start();
    });
    afterAll(async () => {
      await stage.#service?.[Symbol.asyncDispose]();
    });
    return stage;
  }

  /** A fresh election, whose processes end with the test. */
  async scene({ onTestFailed, onTestFinished }: TestContext): Promise<StoreScene> {
    const { start, open } = await testStore(this.name);
    // A guarded transaction locks all of a SQLite file: every election has its own, or they would disturb one another.
    const service = this.name === "sqlite" ? await start() : this.#service!;
    const connection = await open(service.settings);
    const scene = new StoreScene(this, { service, open: connection, cast: new Cast(onTestFailed) });
    onTestFinished(async () => {
      await scene.cast.end();
      await connection.close();
      if (service !== this.#service) await service[Symbol.asyncDispose]();
    });
    return scene;
  }
}

/** One election on the store of a {@link StoreStage}, and the processes that compete in it. */
export class StoreScene {
  readonly cast: Cast;
  readonly capabilities: LeaseStoreCapabilities;
  readonly #stage: StoreStage;
  readonly #service: StoreService;
  readonly #document: GuardedDocument;
  readonly #election = `nightly-${randomUUID()}`;

  constructor(
    stage: StoreStage,
    { service, open, cast }: { readonly service: StoreService; readonly open: OpenStore; readonly cast: Cast },
  ) {
    this.cast = cast;
    this.capabilities = open.store.capabilities;
    this.#stage = stage;
    this.#service = service;
    this.#document = open.document(this.#election);
  }

  /** Starts a process; resolves when it is about to compete. */
  async start(candidateId: string, { elector, ...options }: StoreCandidateOptions = {}): Promise<CandidateProcess> {
    return await this.cast.start({
      ...options,
      store: this.#service.settings,
      election: this.#election,
      candidateId,
      elector: { leaseDurationMs: this.#stage.leaseMs, retryPeriodMs: RETRY_PERIOD_MS, ...elector },
    });
  }

  /** Starts a process, and waits until it has led for a while. */
  async startLeader(candidateId: string, options: StoreCandidateOptions = {}): Promise<CandidateProcess> {
    const leader = await this.start(candidateId, options);
    await leader.said("renewed");
    return leader;
  }

  /** Starts a process beside a leader, and waits until it has looked. */
  async startStandby(candidateId: string, options: StoreCandidateOptions = {}): Promise<CandidateProcess> {
    const standby = await this.start(candidateId, options);
    await standby.said("looked");
    return standby;
  }

  /** The content of the guarded document. */
  async guardedContent(): Promise<string> {
    return await this.#document.read();
  }
}

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, type TestContext } from "vitest";
import { testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import type { GuardedDocument, OpenStore, Seat, StoreService } from "@leasehold/test-kit/stores/test-store";
import type { CandidateProcess } from "@leasehold/test-kit/candidates/candidate-process";
import type { CandidateSettings } from "@leasehold/test-kit/candidates/candidate";
import { Cast } from "./roles.ts";

/**
 * A leader renews every third of the lease, and steps down after two thirds without a renewal. So a leader that has just renewed
 * keeps its lease through a stall of 4 s.
 */
const LEASE_MS = 12_000;
/** Azure's shortest lease. */
const AZURE_LEASE_MS = 15_000;
/**
 * An attempt has a ninth of the lease. Two of three voting servers are in the test's own process. A busy machine may delay that
 * process for a second.
 */
const VOTING_LEASE_MS = 36_000;
const LEASES_MS: Partial<Record<StoreName, number>> = { azure: AZURE_LEASE_MS, voting: VOTING_LEASE_MS };
/** The longest time between two polls of a standby, unless a test sets another. */
const RETRY_PERIOD_MS = 500;

export type StoreCandidateOptions = Partial<Pick<CandidateSettings, "elector" | "guards" | "task">>;

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
    const { start } = await testStore(name);
    const stage = new StoreStage(name, LEASES_MS[name] ?? LEASE_MS);
    beforeAll(async () => {
      stage.#service = await start();
    });
    afterAll(async () => {
      await stage.#service?.[Symbol.asyncDispose]();
    });
    return stage;
  }

  /** A new election, whose processes end with the test. */
  async scene({ onTestFailed, onTestFinished }: TestContext): Promise<StoreScene> {
    const { start, open } = await testStore(this.name);
    // Some elections need a service of their own: a guarded transaction locks a whole SQLite file, and voting processes are the
    // service.
    const service = this.name === "sqlite" || this.name === "voting" ? await start() : this.#service!;
    const seated = await Promise.all((service.seats ?? []).map(async (seat) => ({ seat, bystander: await open(seat.settings) })));
    const connection = seated.at(-1)?.bystander ?? (await open(service.settings));
    const election = `nightly-${randomUUID()}`;
    const document = connection.document(election);
    const scene = new StoreScene(this, { service, election, document, seated, cast: new Cast(onTestFailed) });
    onTestFinished(async () => {
      await scene.cast.end();
      await Promise.all((service.seats ? scene.bystanders : [connection]).map((each) => each.close()));
      if (service !== this.#service) await service[Symbol.asyncDispose]();
    });
    return scene;
  }
}

/** A seat, and the store that holds it until a candidate's process takes it. All seats have to be taken. */
interface Seated {
  readonly seat: Seat;
  readonly bystander: OpenStore;
}

/** One election on the store of a {@link StoreStage}, and the processes that compete in it. */
export class StoreScene {
  readonly cast: Cast;
  readonly #stage: StoreStage;
  readonly #service: StoreService;
  readonly #document: GuardedDocument;
  readonly #election: string;
  /** The seats that no candidate's process has taken. */
  readonly #seated: Seated[];
  readonly #links = new Map<CandidateProcess, Seat["links"]>();

  constructor(
    stage: StoreStage,
    {
      service,
      election,
      document,
      seated,
      cast,
    }: {
      readonly service: StoreService;
      readonly election: string;
      readonly document: GuardedDocument;
      readonly seated: readonly Seated[];
      readonly cast: Cast;
    },
  ) {
    this.#seated = [...seated];
    this.cast = cast;
    this.#stage = stage;
    this.#service = service;
    this.#election = election;
    this.#document = document;
  }

  /** The stores that hold the free seats. */
  get bystanders(): readonly OpenStore[] {
    return this.#seated.map(({ bystander }) => bystander);
  }

  /** Starts a process. Resolves when it is about to compete. */
  async start(candidateId: string, { elector, ...options }: StoreCandidateOptions = {}): Promise<CandidateProcess> {
    const taken = this.#seated.shift();
    await taken?.bystander.close();
    const process = await this.cast.start({
      ...options,
      store: taken?.seat.settings ?? this.#service.settings,
      election: this.#election,
      candidateId,
      elector: { leaseDurationMs: this.#stage.leaseMs, retryPeriodMs: RETRY_PERIOD_MS, ...elector },
    });
    this.#links.set(process, taken?.seat.links ?? []);
    return process;
  }

  /** Cuts these processes off from all others, in both directions, until the returned function is called. They need a seat. */
  cutOff(...processes: readonly CandidateProcess[]): () => void {
    const links = processes.flatMap((process) => this.#links.get(process) ?? []);
    for (const link of links) link.cut();
    return () => links.forEach((link) => link.heal());
  }

  /** Starts a process, and waits until it leads. */
  async startLeader(candidateId: string, options: StoreCandidateOptions = {}): Promise<CandidateProcess> {
    const leader = await this.start(candidateId, options);
    await leader.said("startedLeading");
    return leader;
  }

  /** Starts a process beside a leader, and waits until it has polled. */
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

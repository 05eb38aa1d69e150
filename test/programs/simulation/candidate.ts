import { Elector, isLeaseholdError, type ElectorEvents, type Leadership } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import type { ProcessClock, SeededRandom } from "@leasehold/core/testing";
import type { CandidatePlan } from "./candidate-plan.ts";
import { drawStepLeases, renewByHand } from "./hand-renewal.ts";
import { canRelease } from "./extreme-options.ts";
import type { SimulatedProcess } from "./process.ts";
import { ELECTION } from "./stores/simulated-store.ts";
import type { World } from "./world.ts";

/** The longest time in which a task notices that it has to stop, in leases. */
export const LONGEST_TASK_STEP_LEASES = 0.4;

export interface CandidateOptions {
  readonly world: World;
  /** The process in which it lives, perhaps with others. */
  readonly process: SimulatedProcess;
  readonly candidate: CandidatePlan;
  readonly candidateId: string;
  readonly random: SeededRandom;
}

/** The error of a task that fails. */
class TaskError extends Error {}

type Character = "obedient" | "deaf" | "throwing" | "short" | "silent";

const EVENTS = [
  "standby",
  "startedLeading",
  "renewed",
  "renewFailed",
  "ending",
  "stoppedLeading",
  "releaseFailed",
  "storeFailed",
  "overrun",
  "listenerFailed",
] as const satisfies readonly (keyof ElectorEvents)[];

/** One elector in a process, from its start to its end. */
export class Candidate {
  readonly id: string;
  readonly process: SimulatedProcess;
  readonly elector: Elector;
  readonly stopping = new AbortController();
  /** True once its supervisor has settled. */
  stopped = false;
  /** True once it was told to stop. If it is frozen, it may not know yet. */
  told = false;
  /** The last term that it led, or 0. */
  term = 0;
  /** The leadership of its pending task, or of the last one. */
  leadership: Leadership | undefined;
  /** The last term whose task was reported as an overrun, or 0. */
  overranTerm = 0;
  /** The time of its task's last checkpoint, by its own clock. */
  checkpointMs = 0;
  /** The time at which its last term ended, by its own clock. */
  #gaveUpMs = -Infinity;
  /** The number of pending tasks. */
  pending = 0;
  readonly #options: CandidateOptions;
  #entries = 0;
  /** The time at which the last term of the present call ended, by its own clock. */
  #stoppedMs = -Infinity;
  /** True if it stops as planned. */
  #leaves = false;

  constructor(options: CandidateOptions) {
    const { world, process, candidate, candidateId } = options;
    const { plan, referee } = world;
    this.#options = options;
    this.id = candidateId;
    this.process = process;
    const { stallTimeoutMs, cooldownMs, ...timing } = plan.timing;
    this.elector = new Elector({
      ...timing,
      ...(stallTimeoutMs === undefined ? {} : { stallTimeoutMs }),
      ...(cooldownMs === undefined ? {} : { cooldownMs }),
      leaseDurationMs: candidate.leaseDurationMs,
      ...candidate.options,
      store: process.access.store,
      election: ELECTION,
      candidateId,
      logger: false,
      clock: this.clock,
      expiry: candidate.expiry,
      releaseOnStop: candidate.releaseOnStop,
      minimumHoldMs: candidate.minimumHoldMs,
      reservation: candidate.reservation,
      renewal: candidate.renewal,
    });
    if (world.history) {
      for (const event of EVENTS) this.elector.on(event, (details) => world.note(candidateId, describe(event, details)));
    }
    this.elector.on("startedLeading", ({ term }) => {
      this.term = term;
      referee.returned(this, this.clock.monotonicMs() - this.#stoppedMs);
    });
    this.elector.on("overrun", ({ term }) => (this.overranTerm = term));
    this.elector.on("ending", ({ reason }) => {
      const { reason: why } = reason as { readonly reason?: string };
      if (why === "taken" || why === "missing") referee.lost(this);
    });
    this.elector.on("stoppedLeading", ({ reason }) => {
      if (this.pending > 0) referee.stoppedEarly(this);
      this.#stoppedMs = this.clock.monotonicMs();
      // A lease that was lost triggers no cooldown.
      if (!isLeaseholdError(reason, "LEASE_LOST")) this.#gaveUpMs = this.#stoppedMs;
    });
    this.elector.on("listenerFailed", ({ error }) => referee.gaveUp(this, error));
  }

  get clock(): ProcessClock {
    return this.process.clock;
  }

  get plan(): CandidatePlan {
    return this.#options.candidate;
  }

  /** True while its cooldown after a term is not over, by its own clock. */
  get standsBack(): boolean {
    return this.clock.monotonicMs() < this.#gaveUpMs + this.elector.timing.cooldownMs;
  }

  /** True if it lives and was not told to stop. */
  get competes(): boolean {
    return this.clock.alive && !this.told;
  }

  /** True if it releases its lease when it stops, and learns of the release. */
  get releases(): boolean {
    return this.plan.releaseOnStop && canRelease(this.plan.options);
  }

  /** Stops right before the standbys' next poll, if it leads. */
  stopAsPlanned(): void {
    this.#leaves = true;
    void this.elector
      .stop({ planned: true })
      // A task that lasts longer than its drain is a case for the referee.
      .catch(() => undefined)
      .then(() => this.stopping.abort(new Error("told to stop as planned")));
  }

  /** Competes until it has to stop. */
  async live(): Promise<void> {
    const { signal } = this.stopping;
    const { candidate, random, world } = this.#options;
    const { referee } = world;
    while (!signal.aborted && !this.#leaves) {
      this.#stoppedMs = -Infinity;
      try {
        if (candidate.way === "run") await this.elector.run((leadership) => this.#work(leadership), { signal });
        else await this.#leadByHand(signal);
        if (candidate.way === "run" && !signal.aborted && !this.#leaves) referee.gaveUp(this, new Error("run resolved"));
      } catch (error) {
        // It may be told to stop twice, in both ways.
        const isAborted = (signal.aborted && error === signal.reason) || (this.#leaves && (error as Error).name === "AbortError");
        const told = isAborted || ((signal.aborted || this.#leaves) && isLeaseholdError(error, "DRAIN_TIMEOUT"));
        if (world.restartsWithPresentStore(this.process, error)) return;
        if (!told && !(error instanceof TaskError)) referee.gaveUp(this, error);
      }
      if (!signal.aborted && !this.#leaves) await this.#pause(random.between(0, 0.1));
    }
    referee.settled(this);
    while (this.pending > 0) await this.#pause(0.1);
    this.stopped = true;
  }

  /** Tries once, with a task that takes at most `taskMs`. */
  async callOnce(taskMs: number): Promise<void> {
    const { referee } = this.#options.world;
    const { signal } = this.stopping;
    const task = async (leadership: Leadership): Promise<void> => {
      await this.#guarded(leadership, async () => {
        void this.#write(leadership);
        await sleep(this.clock, taskMs, leadership.signal).catch(() => undefined);
      });
    };
    await this.elector.tryRun(task, { signal }).catch((error: unknown) => {
      // A store error without a leader, and the caller's own reason, are expected.
      if (!isLeaseholdError(error) && error !== signal.reason) referee.gaveUp(this, error);
    });
    this.stopped = true;
  }

  async #leadByHand(signal: AbortSignal): Promise<void> {
    const leadership = await this.elector.campaign({ signal });
    try {
      await this.#work(leadership);
    } finally {
      await leadership.release();
    }
  }

  async #work(leadership: Leadership): Promise<void> {
    await this.#guarded(leadership, async () => {
      const { random, world } = this.#options;
      const character = this.#character();
      const fromMs = this.clock.monotonicMs();
      const endsAfterMs = random.between(0, 2) * this.#leaseMs;
      const { signal } = leadership;
      await this.process.access.seal(leadership).catch(() => undefined);
      for (;;) {
        const isOver = this.clock.monotonicMs() - fromMs >= endsAfterMs;
        // A task that ignores its signal continues for a while, or until the calm begins.
        if (signal.aborted && (character !== "deaf" || isOver || world.calm)) break;
        if (!world.calm && isOver && character === "short") return;
        if (!world.calm && isOver && character === "throwing") {
          world.referee.failed(leadership);
          throw new TaskError("The work has failed.");
        }
        if (character !== "silent" || world.calm) this.#checkpoint(leadership);
        this.#act(leadership);
        await this.#pause(this.#stepLeases(), character === "deaf" && !world.calm ? undefined : signal);
      }
      if (!world.calm && random.chance(0.5)) await this.#pause(random.between(0, LONGEST_TASK_STEP_LEASES));
    });
  }

  /** Runs work as a task. Reports it to the world, and reports a second task beside it. */
  async #guarded(leadership: Leadership, work: () => Promise<void>): Promise<void> {
    const { referee } = this.#options.world;
    this.pending += 1;
    if (this.pending > 1) referee.startedSecondTask(this);
    this.checkpointMs = this.clock.monotonicMs();
    this.leadership = leadership;
    referee.leads(this, leadership);
    try {
      await work();
    } finally {
      this.pending -= 1;
    }
  }

  #checkpoint(leadership: Leadership): void {
    leadership.checkpoint();
    this.checkpointMs = this.clock.monotonicMs();
  }

  /** The occasional actions of a leader. It does not first ask whether it still leads, because the fence is for that. */
  #act(leadership: Leadership): void {
    const { random, world } = this.#options;
    const { writes, publishes } = world.plan.networkFaults;
    if (random.chance(writes)) void this.#write(leadership);
    if (this.plan.renewal === "manual") {
      void renewByHand(leadership, random, world.plan.asks).then((wronged) => {
        if (wronged) world.referee.violate("renewal-is-told", `${this.id} in term ${leadership.term}`);
      });
    }
    if (random.chance(publishes)) {
      void leadership.publish(`at ${Math.round(this.clock.monotonicMs())}`).catch(() => undefined);
    }
  }

  async #write(leadership: Leadership): Promise<void> {
    this.#entries += 1;
    await this.process.access.write(leadership, `${this.id}-${this.#entries}`).catch(() => undefined);
  }

  /** Returns the time until its task acts again, in leases of the run. */
  #stepLeases(): number {
    const { random, world } = this.#options;
    if (this.plan.renewal === "scheduled") return random.between(0.05, 0.3);
    return (drawStepLeases(random, world.calm, this.elector.timing) * this.plan.leaseDurationMs) / this.#leaseMs;
  }

  #character(): Character {
    const { random, world } = this.#options;
    const { deafTask, throwingTask, shortTask, silentTask } = world.plan.networkFaults;
    if (world.calm) return "obedient";
    const character: Character = random.chance(deafTask)
      ? "deaf"
      : random.chance(throwingTask)
        ? "throwing"
        : random.chance(shortTask)
          ? "short"
          : random.chance(silentTask)
            ? "silent"
            : "obedient";
    if (character !== "obedient") world.count(`${character} task`);
    return character;
  }

  async #pause(leases: number, signal?: AbortSignal): Promise<void> {
    await sleep(this.clock, leases * this.#leaseMs, signal).catch(() => undefined);
  }

  get #leaseMs(): number {
    return this.#options.world.plan.timing.leaseDurationMs;
  }
}

function describe(event: string, details: object): string {
  const { term, error, reason, released } = details as {
    term?: number;
    error?: Error;
    reason?: Error;
    released?: boolean;
  };
  const parts = [
    event,
    ...(term === undefined ? [] : [`term ${term}`]),
    ...(released === undefined ? [] : [released ? "released" : "not released"]),
    ...(error === undefined ? [] : [`(${String(error)})`]),
    ...(reason === undefined ? [] : [`(${String(reason)})`]),
  ];
  return parts.join(" ");
}

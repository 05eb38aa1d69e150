import { isLeaseholdError } from "@leasehold/core";
import { SeededRandom, type ProcessClock, type VirtualClock } from "@leasehold/core/testing";
import { TrueTime } from "@leasehold/test-kit/clocks/true-time";
import { Candidate } from "./candidate.ts";
import type { CandidatePlan } from "./candidate-plan.ts";
import type { FaultCounts, Link } from "./network.ts";
import { thaw } from "./mishaps/freeze.ts";
import type { Victim } from "./faults/fault.ts";
import { befall } from "./faults/faults.ts";
import type { Plan } from "./plan.ts";
import { Orders } from "./orders.ts";
import { SimulatedProcess } from "./process.ts";
import { Referee } from "./referee.ts";
import { Schedule } from "./schedule.ts";
import type { SimulatedStore } from "./stores/simulated-store.ts";
import { openStore } from "./stores/stores.ts";
import { Violation } from "./violation.ts";

/** A run without a violation has less than a tenth of these steps. */
const STEP_LIMIT = 50_000;

/** One line of a run's history. */
export interface HistoryLine {
  readonly atMs: number;
  readonly actor: string;
  readonly what: string;
}

/** Everything in one run: the true time, the service, and every process, which the plan's faults hit. */
export class World {
  readonly plan: Plan;
  readonly time: VirtualClock;
  readonly random: SeededRandom;
  readonly store: SimulatedStore;
  readonly referee: Referee;
  readonly schedule: Schedule;
  readonly orders: Orders;
  readonly faults: FaultCounts = new Map();
  readonly history: HistoryLine[] | undefined;
  /** One for each place in the plan: the candidate that has it at present. */
  readonly seats: Array<Candidate | undefined>;
  /** Every candidate so far, and every process. */
  readonly everyone = new Set<Candidate>();
  readonly processes = new Set<SimulatedProcess>();
  /** The connection of each process to the service. */
  readonly links = new Set<Link>();
  /** True in the calm: there are no more faults, and tasks obey. */
  calm = false;
  steps = 0;
  requests = 0;

  constructor(plan: Plan, keepsHistory: boolean) {
    this.plan = plan;
    this.history = keepsHistory ? [] : undefined;
    this.time = new TrueTime(plan.seed);
    this.random = new SeededRandom(plan.seed ^ 0x51f15eed);
    this.store = openStore(plan.store, this.time, plan.serviceRate, this.random, plan.candidates.length);
    this.seats = plan.candidates.map(() => undefined);
    this.referee = new Referee(this);
    this.schedule = new Schedule(this);
    this.orders = new Orders(this);
  }

  /** Lets the candidates enter and the faults happen, each at its time. */
  begin(): void {
    const startMs = this.nowMs;
    for (const seat of this.seats.keys()) {
      this.#at(startMs + this.random.next() * 0.2 * this.leaseMs, () => this.enter(seat, this.#idOf(seat)));
    }
    for (const mishap of this.plan.mishaps) this.#at(mishap.atMs, () => befall(mishap, this));
    this.#at(this.plan.calmAtMs, () => this.#calmDown());
  }

  /** Lets time pass, step by step, until `isSo` is true, or until `limitMs` of the true time. @throws {Violation} */
  async until(isSo: () => boolean, limitMs: number): Promise<void> {
    // Effects of the last step come before time advances.
    await this.time.settle();
    while (!isSo() && (await this.time.step(limitMs))) {
      this.steps += 1;
      this.referee.check();
      this.schedule.check();
      if (this.steps > STEP_LIMIT) throw new Violation("nothing-spins", `more than ${STEP_LIMIT} steps, and no end`);
    }
    if (!isSo()) await this.time.advance(Math.max(limitMs - this.nowMs, 0));
  }

  /** Does something after `inMs`, or when the calm begins, whichever is first. */
  beforeCalm(inMs: number, act: () => void): void {
    this.#at(Math.min(this.nowMs + inMs, this.plan.calmAtMs), act);
  }

  /** A new candidate takes a seat, unless a living one has it. It uses its planned process, if that still runs. */
  enter(seat: number, candidateId: string): void {
    const planned = this.plan.candidates[seat];
    const before = this.seats[seat];
    if (!planned || (before?.clock.alive && !before.stopped)) return;
    const home = this.#homeOf(seat);
    const standing = this.seats.find((other, otherSeat) => other?.clock.alive && this.#homeOf(otherSeat) === home)?.process;
    const process = standing ?? this.startProcess(this.plan.candidates[home] ?? planned, candidateId);
    const candidate = this.startCandidate(planned, candidateId, process);
    this.seats[seat] = candidate;
    this.note(candidateId, standing ? `starts, beside others on one store` : "starts");
    void candidate.live();
  }

  /** Kills a process, and starts it again with all its candidates. */
  restart(process: SimulatedProcess): void {
    const dwellers = this.dwellers(process);
    this.note(process.id, "is killed, and started again");
    process.clock.kill();
    for (const { seat, id } of dwellers) this.enter(seat, id);
  }

  /**
   * Tells whether an error refuses a process because of a store that was replaced. If so, starts the process again with the
   * present one.
   */
  restartsWithPresentStore(process: SimulatedProcess, error: unknown): boolean {
    if (!this.hasReplacedStore(process.clock, error)) return false;
    this.restart(process);
    return true;
  }

  /**
   * Tells whether an error refuses a process because of a store that was replaced. If so, no process gets that store any more.
   */
  hasReplacedStore(process: ProcessClock, error: unknown): boolean {
    return isLeaseholdError(error, "CONFIGURATION") && this.store.members?.endFormer().has(process) === true;
  }

  /** Starts the processes again that have a store which was replaced. They continued without it, and have reported so. */
  endFormerMember(): void {
    const former = this.store.members?.endFormer();
    for (const process of [...this.processes]) {
      if (former?.has(process.clock) && process.clock.alive && this.dwellers(process).length > 0) this.restart(process);
    }
  }

  /** Returns the seats and ids of the candidates in a process. */
  dwellers(process: SimulatedProcess): Array<{ readonly seat: number; readonly id: string }> {
    return this.seats.flatMap((candidate, seat) => (candidate?.process === process ? [{ seat, id: candidate.id }] : []));
  }

  startProcess(planned: CandidatePlan, name: string): SimulatedProcess {
    const process = new SimulatedProcess(this, planned, name);
    this.processes.add(process);
    return process;
  }

  /** Starts one more candidate, in a process of its own unless one is given. */
  startCandidate(candidate: CandidatePlan, candidateId: string, given?: SimulatedProcess): Candidate {
    const process = given ?? this.startProcess(candidate, candidateId);
    const random = new SeededRandom(this.plan.seed ^ Math.imul(this.everyone.size + 1, 0x9e3779b1));
    const started = new Candidate({ world: this, process, candidate, candidateId, random });
    this.everyone.add(started);
    return started;
  }

  victim(who: Victim): Candidate | undefined {
    if (who !== "leader") return this.seats[who];
    const leader = this.referee.lastView(
      ({ candidate, leadership }) => candidate.clock.alive && !leadership.signal.aborted && this.seats.includes(candidate),
    );
    return leader?.candidate ?? this.seats[0];
  }

  note(actor: string, what: string): void {
    this.history?.push({ atMs: this.nowMs, actor, what });
  }

  count(fault: string): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1);
  }

  get nowMs(): number {
    return this.time.monotonicMs();
  }

  /** The longest lease of all candidates. */
  get leaseMs(): number {
    return Math.max(...this.plan.candidates.map(({ leaseDurationMs }) => leaseDurationMs));
  }

  get seated(): Candidate[] {
    return this.seats.filter((candidate) => candidate !== undefined);
  }

  /** Ends all faults. All processes that should come back do, and at least one candidate competes. */
  #calmDown(): void {
    this.calm = true;
    this.note("world", "all is calm");
    this.orders.calmDown();
    this.store.faults?.calmDown();
    this.store.members?.calmDown();
    this.endFormerMember();
    for (const process of this.processes) thaw(process, this);
    if (this.seated.some((candidate) => candidate.competes)) return;
    this.seats[0]?.clock.kill();
    this.enter(0, this.#idOf(0));
  }

  #homeOf(seat: number): number {
    return this.plan.candidates[seat]?.livesWith ?? seat;
  }

  #idOf(seat: number): string {
    return `c${this.plan.twins && seat === 1 ? 0 : seat}`;
  }

  #at(trueMs: number, act: () => void): void {
    this.time.setTimer(act, Math.max(trueMs - this.nowMs, 0));
  }
}

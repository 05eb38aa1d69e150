import type { Lease, RecordLeaseStore } from "@leasehold/core/provider";
import { RecordLeaseStore as Store } from "@leasehold/core/provider";
import { ProcessClock, SeededRandom, SimulatedRecordService, VirtualClock } from "@leasehold/core/testing";
import { Fleet, type FleetOptions, type Shard } from "../../src/index.ts";
import { Connection } from "./network.ts";

/** How the tasks of a world behave. */
export interface Habits {
  /** The time from the abort of a signal until the task settles. */
  readonly drainMs: readonly [number, number];
  /** The chance that a task takes a minute for that. */
  readonly sticks: number;
  /** The chance that a task throws within 20 s. */
  readonly fails: number;
  /** The shard whose task always throws after 0.2 s. */
  readonly poison?: string | undefined;
  /** The shard whose task always returns after 0.2 s. */
  readonly returns?: string | undefined;
}

export const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index));

/** The metadata of an Azure blob have no room for a longer report. */
const MAX_REPORT_BYTES = 2_048;

export const QUIET: Habits = { drainMs: [50, 500], sticks: 0, fails: 0 };

/** Returns a logger, and the warnings and errors that it has been given. */
export function logged() {
  const problems: string[] = [];
  const nothing = (): void => undefined;
  const note = (text: string): void => void problems.push(text);
  return { problems, logger: { debug: nothing, info: nothing, warn: note, error: note } };
}

/** A shard in the hands of a process, until its task has settled. */
interface Held {
  readonly shard: Shard;
  readonly process: Process;
}

export class Process {
  readonly name: string;
  readonly clock: ProcessClock;
  readonly connection: Connection;
  readonly store: RecordLeaseStore;
  readonly fleet: Fleet;
  readonly priority: number;
  /** Until then its wall clock was set back within a lease. If it were suspended, too, only a fence would protect. */
  wallLiesUntilMs = -Infinity;
  isStopping = false;
  isDone = false;
  failure: unknown;

  constructor(
    name: string,
    clock: ProcessClock,
    connection: Connection,
    store: RecordLeaseStore,
    fleet: Fleet,
    priority: number,
  ) {
    this.name = name;
    this.priority = priority;
    this.clock = clock;
    this.connection = connection;
    this.store = store;
    this.fleet = fleet;
  }

  stop(): void {
    this.isStopping = true;
    void this.fleet.stop().catch(() => undefined);
  }

  /** True while it runs, and is not about to leave. */
  get isMember(): boolean {
    return this.clock.alive && !this.isDone && !this.isStopping;
  }
}

export interface WorldOptions {
  readonly shards: readonly string[];
  readonly habits?: Habits;
  readonly storeClock?: boolean;
  /** True if the store's clock can be set, so that the wall clocks have a veto. */
  readonly clockSteps?: boolean;
  readonly clockRate?: number;
  /** True if a failover may undo what a read shows. */
  readonly showsUndurable?: boolean;
  /** Options of each member. */
  readonly fleet?: Partial<FleetOptions>;
}

/**
 * A service, the processes of a fleet and a judge, in virtual time. The judge sees what no process can: all of their tasks at
 * once. It notes each instant at which a rule is broken.
 */
export class World {
  readonly clock: VirtualClock;
  readonly random: SeededRandom;
  readonly service: SimulatedRecordService;
  readonly names = new Set<string>();
  readonly processes: Process[] = [];
  readonly violations: string[] = [];
  readonly log: string[] = [];
  habits: Habits;
  shards: readonly string[];
  starts = 0;
  guarded = 0;
  refused = 0;
  readonly #options: WorldOptions;
  readonly #held = new Map<string, Set<Held>>();
  /** The shards of which more than one task runs. */
  readonly #shared = new Set<string>();
  readonly #lastTerm = new Map<string, number>();
  readonly startsOf = new Map<string, Process[]>();

  constructor(seed: number, options: WorldOptions) {
    this.#options = options;
    this.clock = new VirtualClock(seed);
    this.random = new SeededRandom(seed ^ 0x5bd1e995);
    const { storeClock = false, clockSteps = false, clockRate = 1, showsUndurable = false } = options;
    const time = storeClock ? { storeClock: { toleranceMs: 500, exact: false, mayStep: clockSteps }, clockRate } : {};
    this.service = new SimulatedRecordService(this.clock, { ...time, showsUndurable });
    this.service.onAccepted = ({ election, record: { value = "" } }) => {
      this.names.add(election);
      const bytes = Buffer.byteLength(value);
      if (election.includes("/member/") && bytes > MAX_REPORT_BYTES) this.#violation(`a report has ${bytes} bytes`);
    };
    this.shards = options.shards;
    this.habits = options.habits ?? QUIET;
  }

  nowMs(): number {
    return this.clock.monotonicMs();
  }

  note(text: string): void {
    this.log.push(`${this.nowMs().toFixed(0)} ${text}`);
  }

  #violation(text: string): void {
    this.note(text);
    this.violations.push(`${this.nowMs().toFixed(0)} ${text}`);
  }

  get coordinator(): Process | undefined {
    return this.processes.find(({ fleet, clock }) => clock.running && fleet.isCoordinator);
  }

  /** The members that do not coordinate. */
  get others(): Process[] {
    return this.processes.filter((one) => one.isMember && !one.fleet.isCoordinator);
  }

  /** A connection of a process that is no member, with a store that has read nothing. */
  connect(rate = 1): Pick<Process, "clock" | "connection" | "store"> {
    const clock = new ProcessClock(this.clock, { rate });
    const connection = new Connection(this.clock, clock, this.service, this.random, this.names);
    return { clock, connection, store: new Store(connection.records(), { clock }) };
  }

  /** Starts a process that runs a member. */
  start(name: string, options: Partial<FleetOptions> = {}, rate = 1): Process {
    const { clock, connection, store } = this.connect(rate);
    const fleet = new Fleet({
      store,
      fleet: "f",
      memberId: name,
      logger: false,
      shards: this.shards,
      ...this.#options.fleet,
      ...options,
    });
    const process = new Process(name, clock, connection, store, fleet, options.priority ?? 0);
    this.processes.push(process);
    fleet.on("coordinating", ({ term }) => this.note(`${name} coordinates ${term}`));
    fleet.on("left", ({ slot, term }) => this.note(`${name} left ${slot}.${term}`));
    fleet.on("joined", ({ slot, term }) => this.note(`${name} joined ${slot}.${term}`));
    fleet.on("overrun", ({ shard }) => this.note(`${name} overruns ${shard.name}`));
    const letGo = ({ shard }: { readonly shard: Shard }): void => {
      if (shard.isValid()) this.#violation(`${name} has let ${shard.name} go, and the shard is still valid`);
    };
    fleet.on("shardStopped", letGo);
    fleet.on("shardFailed", letGo);
    void fleet
      .run((shard) => this.#task(shard, process))
      .then(
        () => void (process.isDone = true),
        (error: unknown) => {
          process.isDone = true;
          process.failure = error;
          this.note(`${name} rejected: ${(error as Error).message}`);
        },
      );
    return process;
  }

  async #task(shard: Shard, process: Process): Promise<void> {
    this.#began(shard, process);
    const held: Held = { shard, process };
    const all = this.#held.get(shard.name) ?? new Set();
    this.#held.set(shard.name, all.add(held));
    if (all.size > 1) this.#shared.add(shard.name);
    const { habits, random } = this;
    const { signal } = shard;
    try {
      if (habits.poison === shard.name || habits.returns === shard.name) {
        await this.#wait(process, 200, signal);
        if (!signal.aborted && habits.returns === shard.name) return;
        if (!signal.aborted) throw new Error("poison");
      }
      if (random.chance(habits.fails)) {
        await this.#wait(process, random.between(100, 20_000), signal);
        if (!signal.aborted) throw new Error("failed");
      }
      this.#writeGuarded(shard, process, () => all.has(held));
      if (!signal.aborted)
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      const [lo, hi] = habits.drainMs;
      await this.#wait(process, random.chance(habits.sticks) ? 60_000 : random.between(lo, hi));
    } finally {
      all.delete(held);
    }
  }

  #began(shard: Shard, process: Process): void {
    this.starts += 1;
    this.note(`${process.name} begins ${shard.name} in term ${shard.term}`);
    this.startsOf.set(shard.name, [...(this.startsOf.get(shard.name) ?? []), process]);
    if (!shard.isValid()) this.#violation(`${process.name} begins ${shard.name} on a session that is over`);
    const last = this.#lastTerm.get(shard.name) ?? 0;
    if (shard.term <= last) this.#violation(`${shard.name} begins in term ${shard.term}, after term ${last}`);
    this.#lastTerm.set(shard.name, Math.max(shard.term, last));
    const own = [...(this.#held.get(shard.name) ?? [])].filter((one) => one.process === process);
    if (own.length > 0) this.#violation(`${process.name} runs two tasks of ${shard.name}`);
  }

  /** Sends guarded writes, each of which may arrive late. Once a later term has begun, none of an earlier term may pass. */
  #writeGuarded(shard: Shard, process: Process, isHeld: () => boolean): void {
    if (!this.#isFenced) return;
    const write = (): void => {
      if (!process.clock.alive || !isHeld()) return;
      const afterMs = this.random.chance(0.1) ? this.random.between(0, 40_000) : this.random.between(1, 30);
      this.clock.setIdleTimer(() => this.#arrived(shard), afterMs);
      process.clock.setTimer(write, this.random.between(300, 3_000));
    };
    write();
  }

  get #isFenced(): boolean {
    return this.#options.fleet?.fenced !== false;
  }

  #arrived({ name, election, term, termId }: Shard & Pick<Lease, "election">): void {
    if (!this.service.admits(election, { term, termId })) {
      this.refused += 1;
      return;
    }
    this.guarded += 1;
    const begun = this.#lastTerm.get(name) ?? 0;
    if (term < begun) this.#violation(`${name}: a write of term ${term} passed after term ${begun} had begun`);
  }

  #wait(process: Process, ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = process.clock.setTimer(resolve, ms);
      const abort = (): void => {
        timer.cancel();
        resolve();
      };
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** Judges the shards of which more than one task runs, at this instant. */
  #judge(): void {
    for (const name of this.#shared) {
      const all = this.#held.get(name) ?? new Set();
      for (const held of all) if (!held.process.clock.alive) all.delete(held);
      if (all.size < 2) this.#shared.delete(name);
      const valid = [...all].filter(({ shard }) => shard.isValid());
      if (valid.length < 2) continue;
      const who = valid.map(({ shard, process }) => `${process.name} in term ${shard.term}`);
      this.#violation(`${name} has ${valid.length} valid holders: ${who.join(", ")}`);
    }
  }

  /** Lets time pass, and judges after each step. Stops at the first violation. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.nowMs() + ms;
    await this.clock.settle();
    while (this.violations.length === 0 && (await this.clock.step(untilMs))) this.#judge();
    if (this.violations.length === 0) await this.clock.advance(Math.max(untilMs - this.nowMs(), 0));
  }

  /** Lets time pass until something is so. @throws if it is not so within the limit. */
  async until(isSo: () => boolean, limitMs = 600_000): Promise<number> {
    const sinceMs = this.nowMs();
    while (!isSo()) {
      if (this.violations.length > 0) throw new Error(this.violations[0]);
      if (this.nowMs() - sinceMs > limitMs)
        throw new Error(`Not so within ${limitMs} ms: ${String(isSo)}\n${this.log.slice(-60).join("\n")}`);
      await this.advance(100);
    }
    return this.nowMs() - sinceMs;
  }

  /** Starts members, and waits until all shards are held. */
  async started(names: readonly string[]): Promise<this> {
    for (const name of names) this.start(name);
    await this.until(() => this.problem() === undefined);
    this.starts = 0;
    return this;
  }

  /** The valid holder of each shard. */
  holders(): Map<string, Process> {
    const found = new Map<string, Process>();
    for (const [name, all] of this.#held) {
      for (const { shard, process } of all) if (process.clock.alive && shard.isValid()) found.set(name, process);
    }
    return found;
  }

  /** The number of valid shards of each process that is a member. */
  counts(): Map<string, number> {
    const counts = new Map(this.processes.filter(({ isMember }) => isMember).map(({ name }) => [name, 0]));
    for (const { name } of this.holders().values()) if (counts.has(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
    return counts;
  }

  /** Says what is not as it should be in the calm; `undefined` if all shards are held, as evenly as can be. */
  problem(limits: { readonly max?: number | undefined; readonly isEven?: boolean } = {}): string | undefined {
    const { max = Infinity, isEven = true } = limits;
    // A shard whose task always throws rests nearly all the time.
    const wantedShards = this.shards.filter((shard) => shard !== this.habits.poison);
    const counts = [...this.counts().values()];
    const holders = this.holders();
    const held = wantedShards.filter((shard) => holders.has(shard)).length;
    const wanted = Math.min(wantedShards.length, max * counts.length);
    if (counts.some((count) => count > max)) return `a member has more than ${max}`;
    if (held < wanted) return `${held} of ${wanted} shards are held`;
    if (isEven && max === Infinity && Math.max(...counts) - Math.min(...counts) > 1) return `not even: ${counts.join()}`;
    return undefined;
  }

  requests(): Map<string, number> {
    const sums = new Map<string, number>();
    for (const { connection } of this.processes) {
      for (const [name, count] of connection.counts) sums.set(name, (sums.get(name) ?? 0) + count);
    }
    return sums;
  }

  resetCounts(): void {
    for (const { connection } of this.processes) connection.counts.clear();
  }
}

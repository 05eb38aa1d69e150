// Shards that move: a fleet beside the rules of the Kinesis Client Library 2, in the same virtual time.

import { Fleet } from "@leasehold/fleet";
import { MemoryRecordStore, RecordLeaseStore, sleep } from "@leasehold/core/provider";
import { ProcessClock, VirtualClock } from "@leasehold/core/testing";
import { KclWorkers } from "./kcl-rules.ts";
import type { Result } from "./section.ts";
import { summarize } from "./statistics.ts";

const SHARDS = 100;
const MEMBERS = 10;
/** The lease of both. It is the default of the library. */
const LEASE_MS = 10_000;
/** A task needs so long to end. */
const DRAIN_MS = 500;
const LOOK_MS = 100;
const SEEDS = [1, 2, 3];

/** Workers that share shards. */
export interface Workers {
  /** The workers that run a task, by its shard. */
  readonly tasks: ReadonlyMap<string, ReadonlySet<string>>;
  /** The workers that have joined, and were neither stopped nor killed. */
  readonly present: ReadonlySet<string>;
  join(name: string): void;
  /** Asks a worker to end politely. */
  stop(name: string): void;
  kill(name: string): void;
}

class FleetWorkers implements Workers {
  readonly tasks = new Map<string, Set<string>>();
  readonly present = new Set<string>();
  readonly #clock: VirtualClock;
  readonly #records: MemoryRecordStore;
  readonly #members = new Map<string, { readonly fleet: Fleet; readonly clock: ProcessClock }>();

  constructor(world: VirtualClock) {
    this.#clock = world;
    this.#records = new MemoryRecordStore(world);
  }

  join(name: string): void {
    this.present.add(name);
    const clock = new ProcessClock(this.#clock);
    const store = new RecordLeaseStore(this.#records, { clock });
    const fleet = new Fleet({ store, fleet: "f", shards: SHARDS, memberId: name, leaseDurationMs: LEASE_MS, logger: false });
    this.#members.set(name, { fleet, clock });
    void fleet.run(async (shard) => {
      this.tasks.set(shard.name, (this.tasks.get(shard.name) ?? new Set()).add(name));
      await shard.ended;
      await sleep(clock, DRAIN_MS);
      this.tasks.get(shard.name)?.delete(name);
    });
  }

  stop(name: string): void {
    this.present.delete(name);
    void this.#members.get(name)?.fleet.stop();
  }

  kill(name: string): void {
    this.present.delete(name);
    this.#members.get(name)?.clock.kill();
    for (const running of this.tasks.values()) running.delete(name);
  }
}

const RULES: Readonly<Record<string, (clock: VirtualClock) => Workers>> = {
  Leasehold: (clock) => new FleetWorkers(clock),
  "KCL, one at a time": (clock) => new KclWorkers(clock, SHARDS, DRAIN_MS, 1),
  "KCL, greedy": (clock) => new KclWorkers(clock, SHARDS, DRAIN_MS, Infinity),
};

/** Each is played on members that hold all shards evenly. */
const EVENTS: Readonly<Record<string, (workers: Workers, clock: Watched) => Promise<void>>> = {
  "a member joins": async (workers) => await Promise.resolve(workers.join("new")),
  "a member stops": async (workers) => await Promise.resolve(workers.stop("m0")),
  "a crash": async (workers) => await Promise.resolve(workers.kill("m0")),
  "a rolling deploy": async (workers, watched) => {
    for (let index = 0; index < MEMBERS; index += 1) {
      workers.join(`n${index}`);
      await watched.pass(10_000);
      workers.stop(`m${index}`);
      await watched.pass(10_000);
    }
  },
};

/** Lets time pass, and counts. */
class Watched {
  starts = 0;
  /** Seconds of shards without a task, and with two. */
  withoutS = 0;
  twiceS = 0;
  readonly clock: VirtualClock;
  readonly #workers: Workers;
  #before = new Set<string>();

  constructor(clock: VirtualClock, workers: Workers) {
    this.clock = clock;
    this.#workers = workers;
  }

  async pass(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += LOOK_MS) {
      await this.clock.advance(LOOK_MS);
      this.#look();
    }
  }

  /** True if each shard has one task, and the workers that are present have as many, give or take two. */
  get isEven(): boolean {
    const { tasks, present } = this.#workers;
    const loads = new Map([...present].map((name) => [name, 0]));
    for (const running of tasks.values()) for (const name of running) loads.set(name, (loads.get(name) ?? Infinity) + 1);
    const isHeldOnce = tasks.size === SHARDS && [...tasks.values()].every(({ size }) => size === 1);
    return isHeldOnce && Math.max(...loads.values()) - Math.min(...loads.values()) <= 2;
  }

  #look(): void {
    const now = new Set<string>();
    for (const [shard, running] of this.#workers.tasks) {
      for (const name of running) now.add(`${shard} ${name}`);
      if (running.size === 0) this.withoutS += LOOK_MS / 1_000;
      if (running.size > 1) this.twiceS += LOOK_MS / 1_000;
    }
    for (const one of now) if (!this.#before.has(one)) this.starts += 1;
    this.#before = now;
  }
}

/** Plays each event by each set of rules. */
export async function moves(): Promise<Result[]> {
  const results: Result[] = [];
  for (const [event, act] of Object.entries(EVENTS)) {
    for (const [rules, make] of Object.entries(RULES)) {
      const played: Played[] = [];
      for (const seed of SEEDS) played.push(await play(new VirtualClock(seed), make, act));
      const row = (unit: string, of: (one: Played) => number): void =>
        void results.push({ measure: `${event}: ${rules}`, unit, ...summarize(played.map(of)) });
      row("starts of shards", ({ starts }) => starts);
      row("shard-seconds without a task", ({ withoutS }) => withoutS);
      row("shard-seconds with two tasks", ({ twiceS }) => twiceS);
      row("s until all is even", ({ evenS }) => evenS);
    }
  }
  return results;
}

type Played = Pick<Watched, "starts" | "withoutS" | "twiceS"> & { readonly evenS: number };

async function play(
  clock: VirtualClock,
  make: (clock: VirtualClock) => Workers,
  act: (workers: Workers, watched: Watched) => Promise<void>,
): Promise<Played> {
  const workers = make(clock);
  for (let index = 0; index < MEMBERS; index += 1) workers.join(`m${index}`);
  await clock.advance(3_600_000);
  const watched = new Watched(clock, workers);
  await watched.pass(LOOK_MS);
  if (!watched.isEven) throw new Error("The shards are not held evenly at the start.");
  watched.starts = 0;
  await act(workers, watched);
  const sinceMs = clock.monotonicMs();
  let evenMs = sinceMs;
  // It is even if it stays so for a minute.
  while (clock.monotonicMs() - evenMs < 60_000) {
    await watched.pass(LOOK_MS);
    if (!watched.isEven) evenMs = clock.monotonicMs();
    if (clock.monotonicMs() - sinceMs > 7_200_000) break;
  }
  const { starts, withoutS, twiceS } = watched;
  return { starts, withoutS, twiceS, evenS: (evenMs - sinceMs) / 1_000 };
}

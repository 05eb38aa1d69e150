// A random schedule of faults, by its seed, and the calm after it.

import { sleep, type RecordLeaseStore } from "@leasehold/core/provider";
import { SeededRandom } from "@leasehold/core/testing";
import { readFleet, releaseShard, resetFleet, type FleetOptions } from "../../src/index.ts";
import { numbered, QUIET, World, type Process } from "./world.ts";

const LEASE_MS = 6_000;
/** Late requests of 40 s, tasks that stick for 60 s, rests of 60 s and the time after them end within this. */
const CALM_LIMIT_MS = 400_000;
/** All has to be well for so long. */
const WELL_MS = 10_000;
/** A restless process lives for so long, which is less than a renew interval. */
const RESTLESS_MS = 800;
/** A shard whose task always throws rests for a minute each time, once this has passed. Then its requests are counted as long. */
const RESTS_MS = 130_000;
/** The most requests of a fleet in the calm, as a multiple of 2 M + 1 for each renew interval. */
const MOST_REQUESTS = 2.2;

export interface Outcome {
  readonly seed: number;
  readonly problem?: string | undefined;
  readonly log: readonly string[];
  readonly starts: number;
  readonly guarded: number;
  readonly refused: number;
  readonly settledMs: number;
}

/** Plays the schedule of a seed. */
export async function explore(seed: number): Promise<Outcome> {
  return await new Exploration(seed).play();
}

class Exploration {
  readonly #seed: number;
  readonly #random: SeededRandom;
  readonly #world: World;
  readonly #isNamed: boolean;
  /** The lengths of the lists that may follow the first one. */
  readonly #counts: readonly number[];
  readonly #isRough: boolean;
  readonly #maxShards: number | undefined;
  readonly #thaws: Array<{ readonly atMs: number; readonly process: Process }> = [];
  readonly #weather: Process["connection"]["weather"];
  readonly #latencyMs: readonly [number, number];
  readonly #strikes: number;
  readonly #restores: SeededRandom;
  readonly #orders: SeededRandom;
  readonly #extremes: SeededRandom;
  /** Some members ask for no fences, and write them all the same. Only a reset turns fences off, so there is none. */
  readonly #mixesFences: boolean;
  readonly #clockSteps: boolean;
  /** The list of shards with which a process began. In a world of named shards it stays. */
  readonly #lists = new Map<Process, readonly string[]>();
  #isResetWanted = false;
  #isRestless = false;
  readonly #backups: Array<readonly [name: string, backup: ReturnType<World["service"]["backUp"]>]> = [];
  #made = 0;
  #calm = false;

  constructor(seed: number) {
    const random = new SeededRandom(seed * 7_919 + 17);
    // A world of few shards shows races, and a world of many shows starts: 20 times as many for twice the requests.
    const count = random.pick([1, 5, 13, 200, 200]);
    this.#counts = [1, 3, 9, 14].map((part) => Math.ceil((part * count) / 13));
    this.#isNamed = random.chance(0.3);
    const shards = Array.from({ length: count }, (_, index) => (this.#isNamed ? `tenant-${index}` : String(index)));
    this.#seed = seed;
    this.#restores = new SeededRandom(seed);
    this.#orders = new SeededRandom(seed + 1);
    this.#extremes = new SeededRandom(seed + 2);
    this.#mixesFences = this.#extremes.chance(0.3);
    // Either the store's clock steps or those of the processes. If both lie, only a fence protects.
    this.#clockSteps = this.#orders.chance(0.5);
    this.#random = random;
    this.#isRough = random.chance(0.8);
    this.#maxShards = random.chance(0.2) ? 1 : undefined;
    this.#strikes = this.#isRough ? random.pick([0, 0.05, 0.2]) : 0;
    this.#latencyMs = this.#isRough
      ? random.pick([
          [1, 10],
          [5, 60],
          [20, 250],
        ] as const)
      : [2, 15];
    const k = random.chance(0.25) ? 0.1 : 0.02;
    const chance = (most: number): number => (this.#isRough ? most * random.next() : 0);
    this.#weather = {
      losesRequest: chance(k),
      losesReply: chance(k),
      late: chance(k),
      twice: chance(k),
      lags: chance(0.3),
    };
    this.#world = new World(seed, {
      shards,
      storeClock: random.chance(0.5),
      clockSteps: this.#clockSteps,
      clockRate: 1 + random.between(-0.02, 0.02),
      habits: {
        drainMs: random.pick([
          [0, 50],
          [50, 500],
          [500, 4_000],
        ] as const),
        sticks: random.chance(0.3) ? 0.05 : 0,
        fails: random.chance(0.3) ? 0.1 : 0,
        poison: random.chance(0.15) ? shards[0] : undefined,
        returns: random.chance(0.1) ? shards.at(-1) : undefined,
      },
      fleet: {
        leaseDurationMs: LEASE_MS,
        retryPeriodMs: 500,
        drainTimeoutMs: 3_000,
        settleMs: random.pick([500, 1_500, 6_000]),
        gatherMs: random.pick([0, 1_000]),
        shardsRefreshMs: 2_000,
        fenced: random.chance(0.6),
        ...(this.#isNamed ? {} : { shards: () => this.#world.shards }),
      },
    });
  }

  async play(): Promise<Outcome> {
    const world = this.#world;
    for (let left = this.#random.pick([1, 2, 3, 4, 6]); left > 0; left -= 1) this.#make();
    const untilMs = world.nowMs() + this.#random.between(40_000, 120_000);
    while (world.nowMs() < untilMs && world.violations.length === 0) {
      await world.advance(this.#random.between(200, 9_000));
      this.#thaw(world.nowMs());
      this.#mishap();
    }
    const calmMs = await this.#settle();
    return {
      seed: this.#seed,
      problem: world.violations[0] ?? (calmMs === undefined ? `not settled: ${this.#problem()}` : undefined),
      log: world.log,
      starts: world.starts,
      guarded: world.guarded,
      refused: world.refused,
      settledMs: calmMs ?? CALM_LIMIT_MS,
    };
  }

  #make(): void {
    this.#made += 1;
    const options: Partial<FleetOptions> = {
      ...(this.#maxShards === undefined ? {} : { maxShards: this.#maxShards }),
      ...(this.#random.chance(0.2) ? { priority: 1 } : {}),
      ...(this.#mixesFences && this.#extremes.chance(0.5) ? { fenced: false } : {}),
    };
    const process = this.#world.start(`m${this.#made}`, options, 1 + this.#random.between(-0.035, 0.035));
    this.#lists.set(process, this.#world.shards);
    if (this.#calm) return;
    this.#spoil(process);
    const { connection } = process;
    connection.onRequest = (request) => {
      if (request.endsWith("plan") || request.endsWith("head")) this.#strike(process);
    };
  }

  #spoil({ connection }: Pick<Process, "connection">): void {
    connection.weather = this.#weather;
    connection.latencyMs = this.#latencyMs;
  }

  /** Freezes a process just as it reads or writes the plan, and delays that request. */
  #strike(process: Process): void {
    const { clock } = process;
    if (!this.#random.chance(this.#strikes) || !clock.running) return;
    this.#world.note(`${process.name} is struck`);
    if (this.#random.chance(0.6)) process.connection.nextLateMs = this.#random.between(100, 25_000);
    this.#world.clock.setTimer(() => {
      if (!clock.running) return;
      this.#freeze(process, this.#random.between(500, 20_000));
    }, 0);
  }

  #freeze(process: Process, forMs: number): void {
    const world = this.#world;
    const isSuspended = this.#random.chance(0.3) && world.nowMs() > process.wallLiesUntilMs;
    if (isSuspended) process.clock.suspend();
    else process.clock.pause();
    world.note(`${process.name} ${isSuspended ? "is suspended" : "freezes"} for ${forMs.toFixed(0)}`);
    this.#thaws.push({ atMs: world.nowMs() + forMs, process });
    world.clock.setTimer(() => this.#thaw(world.nowMs()), forMs);
  }

  #thaw(nowMs: number): void {
    for (const thaw of this.#thaws.splice(0)) {
      if (thaw.atMs > nowMs) this.#thaws.push(thaw);
      else if (thaw.process.clock.alive) thaw.process.clock.resume();
    }
  }

  #mishap(): void {
    const world = this.#world;
    const random = this.#random;
    const alive = world.processes.filter(({ clock, isDone }) => clock.alive && !isDone);
    const running = alive.filter(({ clock }) => clock.running);
    const coordinator = running.find(({ fleet }) => fleet.isCoordinator);
    const one = random.chance(0.35) && coordinator ? coordinator : running.length > 0 ? random.pick(running) : undefined;
    const dice = random.next();
    if (dice < 0.22 && alive.length < 8) this.#make();
    else if (one) this.#strikeOne(one, alive, dice);
    this.#restore();
    if (this.#orders.chance(0.15)) this.#order();
  }

  #strikeOne(one: Process, alive: readonly Process[], dice: number): void {
    const world = this.#world;
    const random = this.#random;
    if (dice < 0.34 && alive.length > 1) {
      one.clock.kill();
      world.note(`${one.name} is killed`);
    } else if (dice < 0.44 && alive.length > 1) {
      one.stop();
      world.note(`${one.name} stops`);
    } else if (dice < 0.62) this.#freeze(one, random.between(500, 3 * LEASE_MS));
    else if (dice < 0.76) this.#cut([one], random.between(500, 2.5 * LEASE_MS));
    else if (dice < 0.8) this.#cut(alive, random.between(500, 2 * LEASE_MS));
    else if (dice < 0.84 && !this.#isNamed) {
      const count = random.pick(this.#counts);
      world.shards = numbered(count);
      world.note(`${count} shards are wanted`);
    } else if (dice < 0.86 && this.#clockSteps) {
      world.service.stepClock(random.pick([-20_000, 20_000, 7_200_000]));
      world.note("the store's clock is set");
    } else if (dice < 0.86) {
      one.clock.jumpWall(random.pick([-3_600_000, 3_600_000]));
      one.wallLiesUntilMs = world.nowMs() + 2 * LEASE_MS;
      world.note(`the wall clock of ${one.name} is set`);
    } else if (dice < 0.94 && this.#isRough) {
      one.connection.standStill(random.between(1_000, 2.5 * LEASE_MS));
      world.note(`${one.name} reads a replica that stands still`);
    } else if (dice < 0.96) {
      const name = random.pick([...world.names].filter((other) => other.includes("/member/")));
      world.service.remove(name);
      world.note(`${name} is deleted`);
    }
  }

  /** Restores a slot's record from an earlier time, or keeps what it is now. */
  #restore(): void {
    const world = this.#world;
    const slots = [...world.names].filter((name) => name.includes("/member/"));
    if (slots.length > 0 && this.#restores.chance(0.3)) {
      const name = this.#restores.pick(slots);
      this.#backups.push([name, world.service.backUp(name)]);
    }
    if (this.#backups.length === 0 || !this.#restores.chance(0.03)) return;
    const [name, backup] = this.#restores.pick(this.#backups);
    world.service.restore(name, backup);
    world.note(`${name} is restored`);
  }

  /** An operator releases a shard, evicts a member, or resets the fleet; or a deploy begins that has another list of shards. */
  #order(): void {
    const world = this.#world;
    const random = this.#orders;
    const operator = world.connect();
    this.#spoil(operator);
    const { store } = operator;
    const dice = random.next();
    if (dice < 0.2 && !this.#mixesFences) {
      this.#isResetWanted = true;
      const isDeleted = random.chance(0.5);
      if (isDeleted) world.service.remove("fleet/f/plan");
      // Until the calm nothing is granted then.
      const isLeft = isDeleted && random.chance(0.5);
      world.note(isLeft ? "the plan is deleted" : "the fleet is reset");
      if (!isLeft) void resetFleet(store, "f").catch(() => undefined);
    } else if (dice < 0.4 && this.#isNamed) {
      world.shards = Array.from({ length: random.pick(this.#counts) }, (_, index) => `tenant-${index}`);
      world.note(`a deploy with ${world.shards.length} shards begins`);
    } else void this.#releaseOrEvict(store, dice < 0.7).catch(() => undefined);
  }

  async #releaseOrEvict(store: RecordLeaseStore, isRelease: boolean): Promise<void> {
    const { shards, members } = await readFleet(store, "f");
    const held = shards.filter(({ term }) => term !== undefined);
    if (isRelease && held.length > 0) {
      const { name, term = 0 } = this.#orders.pick(held);
      this.#world.note(`${name} in term ${term} is released`);
      await releaseShard(store, "f", name, { ifTerm: term });
    } else if (members.length > 0) {
      const { election, term } = this.#orders.pick(members);
      this.#world.note(`${election} in term ${term} is evicted`);
      await store.break(election, { reason: "evicted", ifTerm: term });
    }
  }

  /** Repeats a reset until it is done. */
  async #reset(): Promise<void> {
    const { store } = this.#world.connect();
    for (;;) {
      try {
        await resetFleet(store, "f");
        return this.#world.note("the reset is done");
      } catch {
        await sleep(store.clock, 1_000);
      }
    }
  }

  #cut(processes: readonly Process[], forMs: number): void {
    for (const { connection } of processes) connection.cutUntilMs = this.#world.nowMs() + forMs;
    this.#world.note(`${processes.map(({ name }) => name).join()} cut off for ${forMs.toFixed(0)}`);
  }

  /** Ends all faults. Returns how long it takes until all is well; `undefined` if it takes too long. */
  async #settle(): Promise<number | undefined> {
    const world = this.#world;
    this.#calm = true;
    this.#thaw(Infinity);
    for (const { connection } of world.processes) connection.heal();
    const { poison } = world.habits;
    world.habits = { ...QUIET, ...(this.#extremes.chance(0.5) ? { poison } : {}) };
    if (this.#isNamed) for (const [process, list] of this.#lists) if (list !== world.shards) process.stop();
    if (!world.processes.some(({ isMember }) => isMember)) this.#make();
    world.note("calm");
    if (this.#isResetWanted) void this.#reset();
    if (this.#extremes.chance(0.05)) this.#startAnew();
    const sinceMs = world.nowMs();
    let wellMs = 0;
    while (world.violations.length === 0 && world.nowMs() - sinceMs < CALM_LIMIT_MS) {
      wellMs = this.#problem() === undefined ? wellMs + 1_000 : 0;
      if (wellMs > WELL_MS) {
        const settledMs = world.nowMs() - sinceMs - WELL_MS;
        if (world.habits.poison !== undefined && !this.#isRestless) await this.#countRequests();
        return settledMs;
      }
      await world.advance(1_000);
    }
    return undefined;
  }

  /** Starts one process in place of all, beside another one that restarts all the time. */
  #startAnew(): void {
    const world = this.#world;
    this.#isRestless = true;
    for (const { clock } of world.processes) if (clock.alive) clock.kill();
    this.#make();
    const restart = (): void => {
      const process = world.start(`r${world.processes.length}`);
      // No shard has to be with it.
      process.isStopping = true;
      world.clock.setTimer(() => process.clock.kill(), RESTLESS_MS);
      world.clock.setTimer(restart, RESTLESS_MS);
    };
    restart();
  }

  /** Counts the requests while one shard rests again and again. */
  async #countRequests(): Promise<void> {
    const world = this.#world;
    const { length } = world.processes.filter(({ isMember }) => isMember);
    await world.advance(RESTS_MS);
    world.resetCounts();
    await world.advance(RESTS_MS);
    const count = [...world.requests().values()].reduce((sum, requests) => sum + requests, 0);
    const most = (MOST_REQUESTS * (2 * length + 1) * RESTS_MS) / (LEASE_MS / 3);
    if (count > most) world.violations.push(`${count} requests of ${length} members in ${RESTS_MS} ms; at most ${most}`);
  }

  #problem(): string | undefined {
    const members = this.#world.processes.filter(({ isMember }) => isMember);
    // Neither failing shards nor restless members are shared evenly.
    const isEven =
      !this.#isRestless && this.#world.habits.poison === undefined && new Set(members.map(({ priority }) => priority)).size <= 1;
    return this.#world.problem({ max: this.#maxShards, isEven });
  }
}

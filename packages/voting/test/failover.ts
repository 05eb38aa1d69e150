import { Elector, timing, type Leadership } from "@leasehold/core";
import { SeededRandom, type ProcessClock } from "@leasehold/core/testing";
import { Broken } from "@leasehold/test-kit/simulated/random-run";
import { CAPABILITIES } from "../src/capabilities.ts";
import { VotingLeaseStore, type Server } from "../src/simulation.ts";

const NAMES = ["a", "b", "c", "d", "e"];
/** A message or a sync takes up to this share longer than its time, except if the servers are in lockstep. */
export const JITTER = 0.1;
/** The longest time from a start until the server has asked the others twice. */
const JOINS_WITHIN_MS = 1_250;
const STEP_MS = 10;
/** An election of others, whose leases are the longest that servers allow. */
const YEARLY = { election: "yearly", leaseDurationMs: 3_600_000 };

/** The fault of the leader's server. The others go on. */
export const EVENTS = ["dies", "is started again", "stops"] as const;
/** The kinds of networks and disks. */
export const SHAPES = ["near", "slow disks", "far", "both"] as const;

/** The part of a plan that a caller may choose instead of drawing it. */
export interface Situation {
  readonly event: (typeof EVENTS)[number];
  readonly shape: (typeof SHAPES)[number];
}

/** Everything that is drawn before a failover begins. Times are in milliseconds. */
export interface FailoverPlan extends Situation {
  readonly names: readonly string[];
  readonly elections: readonly string[];
  readonly timing: ReturnType<typeof timing>;
  readonly isLockstep: boolean;
  /** Each server lists itself first. */
  readonly isRotated: boolean;
  /** Another election has a lease of an hour. Its leader holds it, or has released it. */
  readonly yearly: "held" | "released" | undefined;
  /** The time that a message takes, by the names of its sender and its receiver. */
  readonly wayMs: ReadonlyMap<string, number>;
  readonly syncMs: ReadonlyMap<string, number>;
}

/** One process of a failover. */
export interface Started {
  readonly clock: ProcessClock;
  readonly server: Server;
}

/** The time, the network and the disks of a failover. */
export interface FailoverWorld {
  /** The time by which the failover is judged. */
  monotonicMs(): number;
  pass(ms: number): Promise<void>;
  /** Starts a server, also one that was killed. It has this list of servers. */
  start(name: string, names: readonly string[]): Started;
  /** Ends a server. A silent one never answers again; the host of any other one refuses connections. */
  kill(name: string, isSilent: boolean): void;
  /** From now on, each write to a server's disk fails, or never ends. */
  failDisk(name: string, hangs: boolean): void;
}

/** How strictly the world's time is judged. */
export interface FailoverLimits {
  /** The waits for a calm cluster, as a multiple of `crashFailoverMs`. */
  readonly settling: number;
  /** The time within which somebody must lead, as a multiple of what `timing()` says. */
  readonly factor: number;
  /** The same for a leader that something outside of the plan has deposed, as a multiple of `crashFailoverMs`. */
  readonly grace: number;
}

/** Drawn apart from the plan, so that the other draws of a seed do not depend on it. */
export function drawYearly(seed: number): FailoverPlan["yearly"] {
  return new SeededRandom(Math.imul(seed, 0x85ebca6b)).pick(["held", "released", undefined, undefined, undefined, undefined]);
}

/** A round trip and a sync together take no longer than `timing()` allows. */
export function drawFailover(
  random: SeededRandom,
  leases: readonly number[],
  { yearly, ...chosen }: Partial<Situation> & Pick<FailoverPlan, "yearly">,
): FailoverPlan {
  const names = NAMES.slice(0, random.pick([3, 3, 3, 5]));
  const elections = ["e", "f", "g"].slice(0, random.pick([1, 1, 1, 3]));
  const times = timing({ leaseDurationMs: random.pick(leases) }, { ...CAPABILITIES, maxLeaseMs: Infinity });
  const isLockstep = random.chance(0.3);
  const isRotated = random.chance(0.4);
  const drawn = random.pick(["dies", "is started again", "is started again", "stops"] as const);
  const mostMs = (times.roundTripMs * 0.95) / (1 + JITTER);
  const longMs = random.between(0.3, 1) * mostMs;
  const shapes = [
    { shape: "near", way: 0.5, sync: 1 },
    { shape: "slow disks", way: 0.5, sync: Math.min(longMs - 1, 200) },
    { shape: "far", way: longMs / 2 - 1, sync: 1 },
    { shape: "both", way: longMs / 4, sync: Math.min(longMs / 2, 200) },
  ] as const;
  const any = random.pick(shapes);
  const { shape, way, sync } = shapes.find((each) => each.shape === chosen.shape) ?? any;
  const least = isLockstep ? 1 : random.pick([0.1, 0.5, 0.9]);
  const wayMs = new Map<string, number>();
  const syncMs = new Map<string, number>();
  for (const from of names) {
    syncMs.set(from, sync * random.between(least, 1));
    for (const to of names) wayMs.set(from + to, way * random.between(least, 1));
  }
  const event = chosen.event ?? drawn;
  return { event, shape, names, elections, timing: times, isLockstep, isRotated, yearly, wayMs, syncMs };
}

interface Process extends Started {
  readonly name: string;
  readonly store: VotingLeaseStore;
  readonly electors: readonly Elector[];
}

interface Leading {
  readonly process: Process;
  readonly leadership: Leadership;
}

/**
 * Plays one failover of servers that vote, with real electors. The leader dies, is started again within seconds, or stops. Then a
 * server must lead within the time that `timing()` gives, and must go on leading. Two servers never lead at once.
 */
export class Failover {
  /** The time from the leader's fault until every election was led again. */
  tookMs: number | undefined;
  /** The time that `timing()` gives for that. */
  promisedMs = 0;
  readonly history: string[] = [];
  readonly #plan: FailoverPlan;
  readonly #random: SeededRandom;
  readonly #world: FailoverWorld;
  readonly #limits: FailoverLimits;
  readonly #processes = new Map<string, Process>();
  readonly #leading: Leading[] = [];

  constructor(plan: FailoverPlan, random: SeededRandom, world: FailoverWorld, limits: FailoverLimits) {
    this.#plan = plan;
    this.#random = random;
    this.#world = world;
    this.#limits = limits;
    const { shape, wayMs, syncMs, isLockstep, isRotated, yearly, event } = plan;
    const most = (times: ReadonlyMap<string, number>): string => `${Math.max(...times.values()).toFixed(1)} ms at most`;
    this.#note("world", `${shape}: ways of ${most(wayMs)} and syncs of ${most(syncMs)}`);
    const others = yearly ? `another lease of an hour is ${yearly}, ` : "";
    this.#note("world", `${isLockstep ? "lockstep, " : ""}${isRotated ? "each lists itself first, " : ""}${others}${event}`);
  }

  get terms(): number {
    return this.#leading.length;
  }

  /** Ends all processes. */
  end(): void {
    for (const { clock } of this.#processes.values()) clock.kill();
  }

  async play(): Promise<void> {
    const { names, elections, timing: times } = this.#plan;
    for (const name of names) this.#start(name);
    await this.#world.pass(JOINS_WITHIN_MS + this.#limits.settling * times.crashFailoverMs);
    await this.#everybodyLeads("at first", times.crashFailoverMs);
    if (this.#plan.yearly) await this.#leadsForAnHour(this.#plan.yearly);
    await this.#world.pass(this.#random.next() * times.leaseDurationMs);
    // In real time a busy machine may have deposed the leader meanwhile.
    await this.#everybodyLeads("before the fault", times.crashFailoverMs);
    const leader = this.#leaderOf(this.#random.pick(elections)) as string;
    if (this.#random.chance(0.6)) await this.#takesOneAway(leader);
    await this.#befalls(this.#leaderOf(elections[0] as string) as string);
  }

  async #leadsForAnHour(lease: "held" | "released"): Promise<void> {
    const { crashFailoverMs, politeHandoverMs } = this.#plan.timing;
    const elector = this.#compete(this.#processes.get(this.#random.pick(this.#plan.names)) as Process, YEARLY);
    await this.#everybodyLeads("at first", crashFailoverMs, { elections: [YEARLY.election] });
    if (lease === "held") return;
    void elector.stop();
    await this.#world.pass(politeHandoverMs);
  }

  /** Kills one of the others, or takes its disk. So only a majority of three is left. */
  async #takesOneAway(leader: string): Promise<void> {
    const { names, event, timing: times } = this.#plan;
    // With three servers, a leader that dies for good would take the majority with it.
    if (names.length === 3 && event !== "is started again") return;
    const name = this.#random.pick(names.filter((each) => each !== leader));
    const how = this.#random.pick(["is down", "is down", "has a full disk", "has a disk that hangs"] as const);
    if (how === "is down") this.#kill(name, how);
    else {
      this.#note(name, how);
      this.#world.failDisk(name, how === "has a disk that hangs");
    }
    await this.#world.pass(this.#limits.settling * times.crashFailoverMs);
    await this.#everybodyLeads("after another server was lost", times.crashFailoverMs);
  }

  async #befalls(leader: string): Promise<void> {
    const { crashFailoverMs, leaseDurationMs, politeHandoverMs } = this.#plan.timing;
    if (this.#plan.event === "stops") {
      this.#note(leader, "is told to stop");
      for (const elector of this.#processes.get(leader)?.electors ?? []) void elector.stop();
      await this.#leadsAgain("after the leader was told to stop", politeHandoverMs, { except: leader });
    } else if (this.#plan.event === "dies") {
      this.#kill(leader, "dies", true);
      await this.#leadsAgain("after the leader died", crashFailoverMs);
    } else {
      this.#kill(leader, "is killed");
      await this.#world.pass(this.#random.between(100, 4_000));
      this.#start(leader);
      await this.#leadsAgain("after the leader was started again", crashFailoverMs + JOINS_WITHIN_MS);
    }
    await this.#world.pass(leaseDurationMs);
    await this.#everybodyLeads("a lease later", this.#limits.grace * crashFailoverMs);
  }

  async #leadsAgain(when: string, promisedMs: number, options: { readonly except?: string } = {}): Promise<void> {
    const sinceMs = this.#world.monotonicMs();
    await this.#everybodyLeads(when, promisedMs, options);
    this.tookMs = this.#world.monotonicMs() - sinceMs;
    this.promisedMs = promisedMs;
  }

  /** Checks that the elections have leaders at one time, in time, other than `except`, which an order has stopped. */
  async #everybodyLeads(
    when: string,
    promisedMs: number,
    { except, elections = this.#plan.elections }: { readonly except?: string; readonly elections?: readonly string[] } = {},
  ): Promise<void> {
    const withinMs = promisedMs * this.#limits.factor;
    const sinceMs = this.#world.monotonicMs();
    const unled = (): readonly string[] => elections.filter((election) => [undefined, except].includes(this.#leaderOf(election)));
    while (unled().length > 0 && this.#world.monotonicMs() - sinceMs < withinMs) await this.#world.pass(STEP_MS);
    const [election] = unled();
    if (election !== undefined)
      throw new Broken("leader-returns", `nobody leads '${election}' ${Math.round(withinMs)} ms ${when}`);
  }

  #leaderOf(election: string): string | undefined {
    const valid = this.#leading.filter(
      ({ process, leadership }) => process.clock.alive && leadership.election === election && leadership.isValid(),
    );
    if (valid.length > 1) throw new Broken("one-leader", `${valid.map(({ process }) => process.name).join(" and ")} lead`);
    return valid[0]?.process.name;
  }

  #kill(name: string, what: string, isSilent = false): void {
    this.#note(name, what);
    this.#processes.get(name)?.clock.kill();
    this.#world.kill(name, isSilent);
  }

  #start(name: string): void {
    this.#note(name, "starts");
    const { names, isRotated, elections, timing: times } = this.#plan;
    const at = names.indexOf(name);
    const { clock, server } = this.#world.start(name, isRotated ? [...names.slice(at), ...names.slice(0, at)] : names);
    const electors: Elector[] = [];
    const process = { name, clock, server, store: new VotingLeaseStore(server), electors };
    this.#processes.set(name, process);
    const { leaseDurationMs } = times;
    for (const election of elections) electors.push(this.#compete(process, { election, leaseDurationMs }));
  }

  #compete(process: Process, options: { readonly election: string; readonly leaseDurationMs: number }): Elector {
    const { store, clock, name } = process;
    const elector = new Elector({ store, clock, ...options, candidateId: name, logger: false });
    void elector.run((leadership) => this.#lead({ process, leadership }));
    return elector;
  }

  async #lead(leading: Leading): Promise<void> {
    const { process, leadership } = leading;
    this.#leading.push(leading);
    this.#note(process.name, `leads '${leadership.election}' in term ${leadership.term}`);
    await new Promise<void>((resolve) => leadership.signal.addEventListener("abort", () => resolve()));
    this.#note(process.name, `leads '${leadership.election}' no more: ${String(leadership.signal.reason)}`);
  }

  #note(who: string, what: string): void {
    this.history.push(`${(this.#world.monotonicMs() / 1_000).toFixed(3).padStart(9)}  ${who.padEnd(6)} ${what}`);
  }
}

import { Elector, timing, type Leadership } from "@leasehold/core";
import { ProcessClock, SeededRandom } from "@leasehold/core/testing";
import { TrueTime } from "@leasehold/test-kit/clocks/true-time";
import { Broken, violationIn, type RandomRun } from "@leasehold/test-kit/simulated/random-run";
import { clusterOf } from "../src/roster.ts";
import { Server, VotingLeaseStore, type VoterReply, type Envelope, type Request } from "../src/simulation.ts";
import { CAPABILITIES } from "../src/capabilities.ts";

const NAMES = ["a", "b", "c", "d", "e"];
/** A message or a sync takes up to this share longer than its time, except if the servers are in lockstep. */
const JITTER = 0.1;
/** The longest time from a start until the server has asked the others twice. */
const JOINS_WITHIN_MS = 1_250;
const STEP_MS = 10;

/** The fault of the leader's server. The others go on. */
type Event = "dies" | "is started again" | "stops";

interface Process {
  readonly name: string;
  readonly clock: ProcessClock;
  readonly electors: Elector[];
  receive?: (message: Envelope<Request>) => Promise<Envelope<VoterReply> | undefined>;
}

interface Leading {
  readonly process: Process;
  readonly leadership: Leadership;
}

/**
 * Plays one failover of servers that vote, with real electors, in virtual time. No message is lost, and only drawn things vary.
 * These are round trips and syncs of any length for which `timing()` makes its promises, and servers in lockstep. Others are a
 * server that is down, several elections per server, and lists in another order on each server. The leader dies, is started again
 * within seconds, or stops. Then a server must lead within the time that `timing()` gives, and must go on leading. The seed
 * decides everything.
 */
export async function playFailover(seed: number, options: { readonly history?: boolean } = {}): Promise<RandomRun> {
  const failover = new RandomFailover(seed, options.history === true);
  const violation = await violationIn(() => failover.play());
  failover.end();
  return { plan: { seed, store: "failovers" }, violation, ...failover.counted };
}

class RandomFailover {
  readonly #random: SeededRandom;
  readonly #time: TrueTime;
  readonly #names: readonly string[];
  readonly #elections: readonly string[];
  readonly #timing: ReturnType<typeof timing>;
  readonly #isLockstep: boolean;
  readonly #isRotated: boolean;
  readonly #event: Event;
  readonly #wayMs = new Map<string, number>();
  readonly #syncMs = new Map<string, number>();
  readonly #disks = new Map<string, string>();
  readonly #processes = new Map<string, Process>();
  readonly #leading: Leading[] = [];
  /** The server that never answers again. Other servers that are down refuse connections. */
  #dead: string | undefined;
  readonly #history: string[] | undefined;
  #requests = 0;

  constructor(seed: number, keepsHistory: boolean) {
    const random = new SeededRandom(Math.imul(seed, 0x9e3779b1) ^ (seed >>> 15));
    this.#random = random;
    this.#time = new TrueTime(random.seed());
    this.#history = keepsHistory ? [] : undefined;
    this.#names = NAMES.slice(0, random.pick([3, 3, 3, 5]));
    this.#elections = ["e", "f", "g"].slice(0, random.pick([1, 1, 1, 3]));
    this.#timing = timing({ leaseDurationMs: random.pick([3_000, 6_000, 15_000]) }, { ...CAPABILITIES, maxLeaseMs: Infinity });
    this.#isLockstep = random.chance(0.3);
    this.#isRotated = random.chance(0.4);
    this.#event = random.pick(["dies", "is started again", "is started again", "stops"]);
    this.#drawTimes();
  }

  /** A round trip and a sync together take no longer than `timing()` allows. */
  #drawTimes(): void {
    const random = this.#random;
    const mostMs = (this.#timing.roundTripMs * 0.95) / (1 + JITTER);
    const longMs = random.between(0.3, 1) * mostMs;
    const { shape, wayMs, syncMs } = random.pick([
      { shape: "near", wayMs: 0.5, syncMs: 1 },
      { shape: "slow disks", wayMs: 0.5, syncMs: Math.min(longMs - 1, 200) },
      { shape: "far", wayMs: longMs / 2 - 1, syncMs: 1 },
      { shape: "both", wayMs: longMs / 4, syncMs: Math.min(longMs / 2, 200) },
    ]);
    const least = this.#isLockstep ? 1 : random.pick([0.1, 0.5, 0.9]);
    for (const from of this.#names) {
      this.#syncMs.set(from, syncMs * random.between(least, 1));
      for (const to of this.#names) this.#wayMs.set(from + to, wayMs * random.between(least, 1));
    }
    this.#note("world", `${shape}: ways of ${wayMs.toFixed(1)} ms and syncs of ${syncMs.toFixed(1)} ms at most`);
    this.#note(
      "world",
      `${this.#isLockstep ? "lockstep, " : ""}${this.#isRotated ? "each lists itself first, " : ""}${this.#event}`,
    );
  }

  get counted(): Omit<RandomRun, "plan" | "violation"> {
    const faults = new Map([[this.#event, 1]]);
    const [terms, virtualMs] = [this.#leading.length, this.#time.monotonicMs()];
    return { steps: 1, requests: this.#requests, virtualMs, terms, faults, history: this.#history ?? [] };
  }

  end(): void {
    for (const { clock } of this.#processes.values()) clock.kill();
  }

  async play(): Promise<void> {
    const { leaseDurationMs } = this.#timing;
    for (const name of this.#names) this.#start(name);
    await this.#pass(JOINS_WITHIN_MS + 2 * this.#timing.crashFailoverMs);
    await this.#everybodyLeads("at first", this.#timing.crashFailoverMs);
    await this.#pass(this.#random.next() * leaseDurationMs);
    const leader = this.#leaderOf(this.#random.pick(this.#elections)) as string;
    if (this.#random.chance(0.6)) await this.#takesOneAway(leader);
    await this.#befalls(this.#leaderOf(this.#elections[0] as string) as string);
  }

  /** Kills one of the others, so that only a majority of three is left. */
  async #takesOneAway(leader: string): Promise<void> {
    // With three servers, a leader that dies for good would take the majority with it.
    if (this.#names.length === 3 && this.#event !== "is started again") return;
    const name = this.#random.pick(this.#names.filter((each) => each !== leader));
    this.#kill(name, "is down");
    await this.#pass(2 * this.#timing.crashFailoverMs);
    await this.#everybodyLeads("after another server went down", this.#timing.crashFailoverMs);
  }

  async #befalls(leader: string): Promise<void> {
    const { crashFailoverMs, leaseDurationMs, politeHandoverMs } = this.#timing;
    if (this.#event === "stops") {
      this.#note(leader, "is told to stop");
      for (const elector of this.#processes.get(leader)?.electors ?? []) void elector.stop();
      await this.#everybodyLeads("after the leader was told to stop", politeHandoverMs, leader);
    } else if (this.#event === "dies") {
      this.#dead = leader;
      this.#kill(leader, "dies");
      await this.#everybodyLeads("after the leader died", crashFailoverMs);
    } else {
      this.#kill(leader, "is killed");
      await this.#pass(this.#random.between(100, 4_000));
      this.#start(leader);
      await this.#everybodyLeads("after the leader was started again", crashFailoverMs + JOINS_WITHIN_MS);
    }
    await this.#pass(leaseDurationMs);
    await this.#everybodyLeads("a lease later", 0);
  }

  /** Checks that every election gets a leader in time, other than the server that was told to stop. */
  async #everybodyLeads(when: string, withinMs: number, except?: string): Promise<void> {
    const sinceMs = this.#time.monotonicMs();
    for (const election of this.#elections) {
      const isLed = (): boolean => ![undefined, except].includes(this.#leaderOf(election));
      while (!isLed() && this.#time.monotonicMs() - sinceMs < withinMs) await this.#pass(STEP_MS);
      if (!isLed()) throw new Broken("leader-returns", `nobody leads '${election}' ${Math.round(withinMs)} ms ${when}`);
    }
  }

  #leaderOf(election: string): string | undefined {
    const valid = this.#leading.filter(
      ({ process, leadership }) => process.clock.alive && leadership.election === election && leadership.isValid(),
    );
    if (valid.length > 1) throw new Broken("one-leader", `${valid.map(({ process }) => process.name).join(" and ")} lead`);
    return valid[0]?.process.name;
  }

  #kill(name: string, what: string): void {
    this.#note(name, what);
    this.#processes.get(name)?.clock.kill();
  }

  #start(name: string): void {
    this.#note(name, "starts");
    const clock = new ProcessClock(this.#time);
    const process: Process = { name, clock, electors: [] };
    this.#processes.set(name, process);
    const at = this.#names.indexOf(name);
    const names = this.#isRotated ? [...this.#names.slice(at), ...this.#names.slice(0, at)] : this.#names;
    const server = new Server({
      ...{ name, names, cluster: clusterOf(names), clock },
      disk: { read: () => Promise.resolve(this.#disks.get(name)), write: (text) => this.#sync(process, text) },
      transport: {
        send: (message, timeoutMs) => this.#carry(process, message, timeoutMs),
        listen: (receive) => Promise.resolve(void (process.receive = receive)),
        close: () => Promise.resolve(),
      },
    });
    void server.start();
    const store = new VotingLeaseStore(server);
    for (const election of this.#elections) {
      const { leaseDurationMs } = this.#timing;
      const elector = new Elector({ store, clock, election, leaseDurationMs, candidateId: name, logger: false });
      process.electors.push(elector);
      void elector.run((leadership) => this.#lead({ process, leadership }));
    }
  }

  async #lead(leading: Leading): Promise<void> {
    const { process, leadership } = leading;
    this.#leading.push(leading);
    this.#note(process.name, `leads '${leadership.election}' in term ${leadership.term}`);
    await new Promise<void>((resolve) => leadership.signal.addEventListener("abort", () => resolve()));
    this.#note(process.name, `leads '${leadership.election}' no more: ${String(leadership.signal.reason)}`);
  }

  async #sync({ name, clock }: Process, text: string): Promise<void> {
    await this.#takes(this.#syncMs.get(name));
    if (!clock.alive) return await new Promise(() => {});
    this.#disks.set(name, text);
  }

  #carry({ name, clock }: Process, message: Envelope<Request>, timeoutMs: number): Promise<Envelope<VoterReply>> {
    this.#requests += 1;
    const { to } = message;
    return new Promise((resolve, reject) => {
      const timer = clock.setTimer(() => reject(new Error(`${to} does not answer in time.`)), timeoutMs);
      const refuse = (): void => {
        timer.cancel();
        reject(new Error(`${to} refuses the connection.`));
      };
      const carry = async (): Promise<void> => {
        await this.#takes(this.#wayMs.get(name + to));
        const receiver = this.#processes.get(to);
        if (receiver?.clock.alive !== true) return this.#dead === to ? undefined : clock.deliver(refuse);
        const answer = await receiver.receive?.(message);
        if (!answer || !receiver.clock.alive) return;
        await this.#takes(this.#wayMs.get(to + name));
        timer.cancel();
        clock.deliver(() => resolve(answer));
      };
      void carry();
    });
  }

  async #takes(ms = 0): Promise<void> {
    const jitter = this.#isLockstep ? 0 : JITTER * this.#random.next();
    await new Promise<void>((resolve) => this.#time.setTimer(resolve, ms * (1 + jitter)));
  }

  async #pass(ms: number): Promise<void> {
    await this.#time.advance(ms);
  }

  #note(who: string, what: string): void {
    this.#history?.push(`${(this.#time.monotonicMs() / 1_000).toFixed(3).padStart(9)}  ${who.padEnd(6)} ${what}`);
  }
}

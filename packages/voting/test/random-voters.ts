import { SeededRandom } from "@leasehold/core/testing";
import { TrueTime } from "@leasehold/test-kit/clocks/true-time";
import { Broken, violationIn, type RandomRun } from "@leasehold/test-kit/simulated/random-run";
import { ELECTION, VotersClaimants } from "./voters-claimants.ts";
import { majorityOf } from "../src/startup-recovery.ts";
import type { VoterReply, Envelope, Request } from "../src/simulation.ts";
import { VotersJudge, type LedTerm } from "./voters-judge.ts";
import { ALL_SPLITS, cutBy, type Split } from "./voters-splits.ts";
import { VotersWorld } from "./voters-world.ts";

/** The lease of most claims, and the unit of delays. */
const LEASE_MS = 3_000;
const PAUSES_MS = [0, 1, 10, 50, 300, 300, 1_000, 1_000, 3_000];
/** The time for which a server with an older file reaches the others. It is longer than any lease. */
const ASKS_FOR_MS = 120_000;
const ORDERS = 30;
/** The most claims at the end before the run counts as leaderless, and the most seconds of waiting for earlier orders. */
const LAST_CLAIMS = 100;
const LAST_WAITS = 90;
const FEWEST_SERVERS = 3;
const MOST_SERVERS = 7;

/** The result of one run. */
export interface Played extends RandomRun {
  /** The number of promises that had to be kept. */
  readonly promises: VotersJudge["promises"] & { readonly transfers: number };
}

/**
 * Plays one run of servers without electors, in virtual time. They claim, renew, release, break and transfer. They are killed,
 * wiped, rolled back, frozen, split, and given other lists. Messages are lost, late, repeated and reordered. Then all faults end,
 * and a server must lead. The seed decides everything.
 */
export async function playVoters(seed: number, options: { readonly history?: boolean } = {}): Promise<Played> {
  const voters = new RandomVoters(seed, options.history === true);
  const violation = await violationIn(() => voters.play());
  voters.end();
  return { plan: { seed, store: "voters" }, violation, ...voters.counted };
}

class RandomVoters {
  readonly #random: SeededRandom;
  readonly #time: TrueTime;
  readonly #world: VotersWorld;
  readonly #judge: VotersJudge;
  readonly #claimants: VotersClaimants;
  /** The list that every server is to have. */
  #names: readonly string[];
  #named: number;
  /** Servers that have lost their state, or are new, and have not taken part since. */
  readonly #lost = new Set<string>();
  /** The server that was last given an older file. */
  #older: string | undefined;
  #violation: Broken | undefined;
  readonly #history: string[] | undefined;
  readonly #faults = new Map<string, number>();
  #requests = 0;
  #steps = 0;

  constructor(seed: number, keepsHistory: boolean) {
    this.#history = keepsHistory ? [] : undefined;
    const random = new SeededRandom(Math.imul(seed, 0x9e3779b1) ^ (seed >>> 15));
    const time = new TrueTime(random.seed());
    this.#random = random;
    this.#time = time;
    this.#named = random.pick([3, 3, 3, 4, 5, 5, 7]);
    this.#names = Array.from({ length: this.#named }, (_, index) => nameOf(index));
    const sometimes = (most: number): number => (random.chance(0.5) ? random.between(0, most) : 0);
    this.#judge = new VotersJudge(time, (rule, what) => {
      this.#violation ??= new Broken(rule, what);
    });
    this.#world = new VotersWorld({
      time,
      random,
      leaseMs: LEASE_MS,
      claimsAtOnce: random.chance(0.5),
      note: (who, what) => this.#note(who, what),
      sends: (request) => {
        this.#requests += 1;
        if (request.kind === "BREAK") this.#judge.orders(request.term, request.immediate);
        this.#judge.transfer.sends(request);
      },
      answers: (message, answer) => this.#answers(message, answer),
      networkFaults: {
        losesRequest: sometimes(0.2),
        losesReply: sometimes(0.2),
        late: sometimes(0.2),
        slow: sometimes(0.5),
        twice: sometimes(0.3),
      },
    });
    this.#claimants = new VotersClaimants({
      random,
      time,
      world: this.#world,
      judge: this.#judge,
      leaseMs: LEASE_MS,
      note: (who, what) => this.#note(who, what),
    });
  }

  get counted(): Omit<Played, "plan" | "violation"> {
    const [steps, requests, faults] = [this.#steps, this.#requests, this.#faults];
    const promises = { ...this.#judge.promises, transfers: this.#judge.transfer.kept };
    return { steps, requests, terms: promises.terms, promises, faults, virtualMs: this.#nowMs, history: this.#history ?? [] };
  }

  async play(): Promise<void> {
    for (const name of this.#names) {
      this.#lost.add(name);
      this.#world.start(name, this.#names);
    }
    await this.#pass(1_000);
    for (let order = 0; order < ORDERS; order += 1) {
      this.#steps += 1;
      this.#doAnything();
      await this.#pass(this.#random.pick(PAUSES_MS));
    }
    await this.#seeLeader();
  }

  /** Ends the run and all its processes. */
  end(): void {
    this.#world.killAll();
  }

  get #nowMs(): number {
    return this.#time.monotonicMs();
  }

  async #pass(ms: number): Promise<void> {
    await this.#time.advance(ms);
    if (!this.#violation) return;
    this.#note("judge", this.#violation.message);
    throw this.#violation;
  }

  #note(who: string, what: string): void {
    this.#history?.push(`${(this.#nowMs / 1_000).toFixed(4).padStart(10)}  ${who.padEnd(6)} ${what}`);
  }

  #count(fault: string): void {
    this.#faults.set(fault, (this.#faults.get(fault) ?? 0) + 1);
  }

  #answers(message: Envelope<Request>, answer: VoterReply): void {
    const { from, content } = message;
    const { server } = this.#world.host(from) ?? {};
    // A server with a full disk has not kept the order.
    const own = server?.takesPart === true ? server.ballots.kept.elections[ELECTION]?.transfer?.id : undefined;
    const ownKeeps = content.kind === "TRANSFER" && content.id === own;
    this.#judge.transfer.answers(message, answer, majorityOf(this.#names.length), ownKeeps);
  }

  #doAnything(): void {
    const what = this.#random.next();
    const name = this.#random.pick(this.#names);
    const claimants = this.#claimants;
    if (what < 0.3) for (const rival of this.#random.chance(0.4) ? this.#names : [name]) claimants.claim(rival);
    else if (what < 0.5) claimants.renewAll();
    else if (what < 0.57) claimants.release();
    else if (what < 0.61) this.#breaks(name);
    else if (what < 0.65) this.#transfers(name);
    else if (what < 0.76) this.#crashes(name);
    else if (what < 0.8) this.#freezes(name);
    else if (what < 0.88) this.#splits(name);
    else if (what < 0.95) this.#world.cut.clear();
    else if (what < 0.96) this.#fillsDisk(name);
    else this.#changesList();
  }

  #breaks(name: string): void {
    this.#count("break");
    this.#claimants.break(name);
  }

  #transfers(name: string): void {
    this.#count("transfer");
    this.#claimants.transfer(name, this.#random.chance(0.3) ? "nobody" : this.#random.pick(this.#names));
  }

  /** Kills a process and starts it again, at once or later. Its disk is as before, empty, or an older one. */
  #crashes(name: string): void {
    if (this.#hasToTell(name)) return;
    const world = this.#world;
    const loss = this.#lossOf(name);
    world.kill(name);
    this.#note(name, `is killed, and its disk is ${loss}`);
    this.#count(`killed, disk ${loss}`);
    if (loss === "wiped") world.wipe(name);
    if (loss === "older") {
      this.#older = name;
      world.rollBack(name, ASKS_FOR_MS);
    }
    if (loss !== "kept") this.#judge.transfer.forgets();
    if (loss !== "kept") this.#losesMore(name);
    if (loss === "older" || this.#random.chance(0.5)) world.start(name);
    else this.#time.setTimer(() => this.#startsAgain(name), this.#random.between(0, 2) * LEASE_MS);
  }

  /** Sometimes cuts off a server that may remember the lost state. */
  #losesMore(name: string): void {
    this.#lost.add(name);
    const leader = this.#claimants.leader?.host.name;
    if (this.#random.chance(0.4)) this.#splits(leader ?? this.#random.pick(this.#names), "away");
  }

  #startsAgain(name: string): void {
    if (this.#world.host(name)?.clock.alive === false) this.#world.start(name);
  }

  /**
   * One server at a time loses its state, and no list changes meanwhile. If it is given an older file, all others are there to
   * report. A loss that no other server can report would go unnoticed.
   */
  #lossOf(name: string): "kept" | "wiped" | "older" {
    const loss = this.#random.pick(["kept", "kept", "wiped", "older"] as const);
    if (this.#hasLost || this.#isMoving) return "kept";
    const areAllThere = this.#names.every((each) => each === name || this.#world.takesPart(each));
    return loss === "older" && (!areAllThere || !this.#world.hasPast(name)) ? "kept" : loss;
  }

  /** Another server has an older file, and may not know it yet. */
  #hasToTell(name: string): boolean {
    return this.#older !== undefined && this.#older !== name && !this.#world.takesPart(this.#older);
  }

  get #hasLost(): boolean {
    for (const name of this.#lost) if (this.#world.takesPart(name)) this.#lost.delete(name);
    return this.#lost.size > 0;
  }

  /** Freezes a process for a while. Sometimes its monotonic clock stops as well. */
  #freezes(name: string): void {
    const clock = this.#world.running(name)?.clock;
    if (!clock || this.#hasToTell(name)) return;
    const isAsleep = this.#random.chance(0.3);
    this.#note(name, isAsleep ? "is suspended" : "is frozen");
    this.#count("frozen");
    if (isAsleep) clock.suspend();
    else clock.pause();
    this.#time.setTimer(() => clock.resume(), this.#random.between(0, 3) * LEASE_MS);
  }

  #splits(victim: string, split: Split = this.#random.pick(ALL_SPLITS)): void {
    const { cut } = this.#world;
    cut.clear();
    for (const link of cutBy(split, this.#names, victim, this.#random)) cut.add(link);
    this.#note("net", `is split (${split}): nothing passes ${[...cut].join(" ")}`);
    this.#count(`split: ${split}`);
  }

  #fillsDisk(name: string): void {
    this.#note(name, "has a full disk");
    this.#count("disk full");
    this.#world.fillDisk(name);
  }

  /** Some server does not have the newest list yet. */
  get #isMoving(): boolean {
    return this.#names.some((name) => this.#world.listOf(name) !== this.#names);
  }

  /** Changes the list by one server, or starts some more servers with the newest list. */
  #changesList(): void {
    if (!this.#isMoving) {
      if (this.#hasLost) return;
      this.#count("list changed");
      this.#drawList();
    }
    const left = this.#names.filter((name) => this.#world.listOf(name) !== this.#names);
    for (const name of left.slice(0, this.#random.pick([1, 2, MOST_SERVERS]))) this.#move(name);
  }

  #drawList(): void {
    const { length } = this.#names;
    const isMore = length < MOST_SERVERS && (length <= FEWEST_SERVERS || this.#random.chance(0.5));
    if (isMore) {
      const added = nameOf(this.#named++);
      this.#names = [...this.#names, added];
      this.#lost.add(added);
    } else {
      const gone = this.#random.pick(this.#names);
      this.#names = this.#names.filter((name) => name !== gone);
      // The removed server may be stopped after the others were started without it.
      this.#time.setTimer(() => this.#world.remove(gone), this.#random.pick([0, 1, 5]) * LEASE_MS);
    }
    this.#note("lists", `are to be ${this.#names.join("")}`);
  }

  /** Starts a server with the newest list, if it may have this list already. */
  #move(name: string): void {
    this.#judge.transfer.forgets();
    try {
      this.#world.start(name, this.#names);
    } catch (error) {
      this.#note(name, (error as Error).message);
    }
  }

  /** Makes a server run with the newest list. If it has not met all others with the former list, it runs with that one. */
  #comesBack(name: string): void {
    const isMoved = this.#world.listOf(name) === this.#names;
    if (!isMoved) this.#move(name);
    else if (this.#world.host(name)?.clock.alive !== true) this.#world.start(name);
    if (isMoved || this.#world.listOf(name) === this.#names) return;
    this.#world.kill(name);
    this.#world.start(name);
  }

  /** All faults have ended. Checks that a server leads before long, and goes on. */
  async #seeLeader(): Promise<void> {
    this.#note("world", "all is calm");
    const world = this.#world;
    world.isCalm = true;
    world.cut.clear();
    await this.#pass(3 * LEASE_MS);
    for (const name of this.#names) if (!world.takesPart(name)) world.kill(name);
    for (let round = 0; round < 3; round += 1) {
      for (const name of this.#names) this.#comesBack(name);
      await this.#pass(1_000);
    }
    // A server stays behind if no server with the next list has answered it. Then there may be no majority.
    if (this.#isMoving) return this.#count("left behind by a list");
    const idle = (): readonly string[] => this.#names.filter((name) => !world.takesPart(name));
    const untilMs = this.#nowMs + 4 * LEASE_MS + 30_000;
    while (idle().length > 0 && this.#nowMs < untilMs) await this.#pass(1_000);
    if (idle().length > 0)
      await this.#fails("nobody-is-stuck", `${idle().join(" and ")} of ${this.#names.join("")} takes no part`);
    // An order without a term is for the term that it finds.
    for (let waits = 0; waits < LAST_WAITS && this.#claimants.isBreaking; waits += 1) await this.#pass(1_000);
    // The leader must not be about to end, must not be broken, and must not be on a server that was removed.
    const leader = (): LedTerm | undefined => {
      const { ledTerm, host } = this.#claimants.leader ?? {};
      const goesOn = ledTerm && ledTerm.validUntilMs > this.#nowMs + 1_000 && !this.#judge.wasOrdered(ledTerm);
      return goesOn && host && this.#names.includes(host.name) ? ledTerm : undefined;
    };
    for (let claim = 0; claim < LAST_CLAIMS && !leader(); claim += 1) {
      this.#claimants.claim(this.#random.pick(this.#names));
      await this.#pass(500);
    }
    const ledTerm = leader();
    if (!ledTerm) return await this.#fails("leader-returns", "nobody leads");
    for (let renewal = 0; renewal < 3; renewal += 1) {
      let isRenewed = false;
      void this.#claimants.renew(ledTerm).then((is) => (isRenewed = is));
      await this.#pass(300);
      if (!isRenewed) await this.#fails("leader-stays", `term ${ledTerm.lease.term}`);
    }
  }

  async #fails(rule: string, what: string): Promise<void> {
    this.#violation ??= new Broken(rule, what);
    await this.#pass(0);
  }
}

function nameOf(index: number): string {
  return String.fromCharCode(97 + index);
}

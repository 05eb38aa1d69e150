/**
 * Gives random orders to the leases of a quorum whose members fail and forget at random, and checks the invariants all the while.
 */
import type { LeaseStore } from "@leasehold/core";
import {
  RecordLeaseStore,
  SAFETY_MARGIN,
  type Lease,
  type LeaseRecord,
  type PutOptions,
  type PutOutcome,
  type RecordStore,
} from "@leasehold/core/provider";
import {
  ProcessClock,
  SeededRandom,
  SimulatedRecordService,
  type AcceptedWrite,
  type Passage,
  type RecordBackup,
} from "@leasehold/core/testing";
import { StoreError } from "@leasehold/core";
import { ConnectingRecords } from "@leasehold/test-kit/simulated/connecting-records";
import { TrueTime } from "@leasehold/test-kit/clocks/true-time";
import { Broken, violationIn, type RandomRun } from "@leasehold/test-kit/simulated/random-run";
import { compareBallots, type Ballot } from "../src/ballot.ts";
import { QuorumRecordStore } from "../src/quorum-record-store.ts";
import { MARKER, ROSTER } from "../src/roster.ts";
import { UndurableMember } from "./undurable-member.ts";

const ELECTIONS = ["e", "f", "g", "h", "i", "j", "k", "l", "m", "n"] as const;
const RECORDS = [MARKER, ROSTER, ...ELECTIONS];
const LEASE_MS = 3_000;
const TIMES = { leaseDurationMs: LEASE_MS, renewIntervalMs: 1_000, timeoutMs: 600 };
const LIMITS = { timeoutMs: 600 };
/** The time between two faults: longer than a lease, and than every call that is under way. */
const BETWEEN_FAULTS_MS = 3_700;
const SEATS = 3;
/** The numbers of orders in a run. Most runs are short, so that there are many; some have one loss after the other. */
const ORDERS = [15, 20, 20, 60];
/** The number of elections for which the end of a run checks that a candidate leads. */
const SEEN_IN_THE_END = 2;
/**
 * The round trip to a far member. A call gives each member 150 ms; a connection with its first request takes three round trips.
 */
const FAR_MS = 60;
/** The share of requests that are lost, and of replies, in runs that lose messages all the while. */
const LOSS = 0.05;
/** The time from one member's loss to the next one's, in such runs. A member needs some renewals to be written anew. */
const BETWEEN_LOSSES_MS = 30_000;
/** The longest freeze: longer than any call. */
const LONGEST_FREEZE_MS = 9_000;
/** The share of runs with an undurable member, of the runs in which no member forgets. */
const UNDURABLE = 0.5;

const FAULTS = ["down", "hangs", "lags", "refuses", "is late", "loses replies"] as const;
const LOSSES = ["wiped", "rolled back", "rolled back", "replaced"] as const;
/** The losses that every process notices that reads the store, whatever the other members answer. */
const NOTICED = ["wiped", "replaced"] as const;
type How = (typeof FAULTS)[number] | (typeof LOSSES)[number];

/** The part of a member's note that is used here. */
interface Note {
  readonly roster: number;
  readonly members: Readonly<Record<string, string>>;
  readonly promised: Ballot | null;
  readonly accepted: Ballot | null;
  readonly write: string | null;
  readonly base: string | null;
  readonly seen: Readonly<Record<string, Ballot>>;
}

interface Holder {
  readonly process: Process;
  readonly lease: Lease;
  untilMs: number;
}

/** The numbers of events in a run. */
export interface Counts {
  terms: number;
  renewals: number;
  releases: number;
  breaks: number;
  transfers: number;
  looks: number;
  seals: number;
  losses: number;
  faults: number;
  /**
   * Staged schedules: orders that were overlooked, elections emptied where others had missed them, and writes that crossed a
   * replacement.
   */
  stages: number;
}

/** The result of one run. */
export interface Played extends RandomRun {
  readonly counts: Counts;
}

/**
 * Plays one run in virtual time. Processes without electors give orders to the leases of a quorum. Its members fail, forget and
 * are replaced. Then all faults end, and a candidate has to lead. The seed decides everything.
 */
export async function playQuorum(seed: number, options: { readonly history?: boolean } = {}): Promise<Played> {
  const quorum = new RandomQuorum(seed, options.history === true);
  const violation = await violationIn(() => quorum.play());
  return { plan: { seed, store: "quorum" }, violation, ...quorum.counted };
}

type OnPut = (election: string, nonce: string, outcome: PutOutcome) => void;

class WatchedRecords extends QuorumRecordStore {
  readonly #onPut: OnPut;

  constructor(members: Readonly<Record<string, RecordStore>>, clock: ProcessClock, onPut: OnPut) {
    super(members, clock);
    this.#onPut = onPut;
  }

  override async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const outcome = await super.put(election, record, options);
    if (!options.keepsNonce) this.#onPut(election, record.nonce, outcome);
    return outcome;
  }
}

class Process {
  readonly clock: ProcessClock;
  readonly name: string;
  readonly services: ReadonlyMap<string, SimulatedRecordService>;
  readonly records: QuorumRecordStore;
  readonly leases: LeaseStore;
  /** The elections with a call of this process under way. */
  readonly busy: Set<string> = new Set();
  /** The position that its reads have reached in each election's sequence of writes. */
  readonly places: Map<string, number> = new Map();

  constructor(
    name: string,
    clock: ProcessClock,
    services: ReadonlyMap<string, SimulatedRecordService>,
    members: Readonly<Record<string, RecordStore>>,
    onPut: OnPut,
  ) {
    this.name = name;
    this.clock = clock;
    this.services = services;
    this.records = new WatchedRecords(members, clock, onPut);
    this.leases = new RecordLeaseStore(this.records, { clock });
  }
}

/** A quorum, the processes that use it, and their faults. */
class RandomQuorum {
  readonly counts: Counts = {
    terms: 0,
    renewals: 0,
    releases: 0,
    breaks: 0,
    transfers: 0,
    looks: 0,
    seals: 0,
    losses: 0,
    faults: 0,
    stages: 0,
  };
  readonly #history: string[] | undefined;
  readonly #befallen = new Map<string, number>();
  readonly #random: SeededRandom;
  readonly #clock: TrueTime;
  #steps = 0;
  #requests = 0;
  readonly #names: readonly string[];
  readonly #majority: number;
  /** True if members may be rolled back; then every request to the others is answered. Otherwise any request may be lost. */
  readonly #forgets: boolean;
  readonly #hasClocks: boolean;
  /** The elections: few, if each has to be written anew before the next member forgets. */
  readonly #elections: string[];
  /** A member whose connections take three round trips to open. */
  readonly #far: string | undefined;
  /** True in runs in which every twentieth message is lost, and each member is emptied in turn. Nothing else happens in them. */
  readonly #isLossy: boolean;
  /** False in the other runs, and at the end of such a run for an election that has not begun. */
  #losesMessages: boolean;
  /** A member that may lose what it has not acknowledged. No other member loses anything in such a run. */
  readonly #undurable: UndurableMember | undefined;
  /** The member whose clock is wrong, if there is one. */
  readonly #wrongClock: string | undefined;
  readonly #services = new Map<string, SimulatedRecordService>();
  readonly #seats: Process[] = [];
  #starts = 0;
  /** For each seat, a member that its process does not reach; used only if no member forgets. */
  readonly #cutOff = new Map<number, string | undefined>();
  #fault: { readonly name: string; readonly how: How } | undefined;
  /** The election whose last order a majority has missed or forgotten. */
  #overlooked: string | undefined;
  /** The members that no request reaches now, and the members that answer before all others. */
  readonly #away = new Set<string>();
  readonly #first = new Set<string>();
  /** The possible times of a seat's requests to a member now, if they lag. */
  readonly #lagsMs = new Map<string, readonly number[]>();
  /** A member whose marker is shown late now. */
  #showsLate: string | undefined;
  /** True while requests meet no other faults. */
  #isStaged = false;
  /** The writes by which each store got its marker. */
  readonly #markings = new Map<SimulatedRecordService, ReadonlyArray<readonly [LeaseRecord, PutOptions]>>();
  #mendedMs = 0;
  #isCalm = false;
  readonly #backups = new Map<string, Array<ReadonlyMap<string, RecordBackup>>>();
  /** The highest promise that each member's store has ever made, by election. */
  readonly #promised = new Map<string, Ballot>();
  /** The stores that have accepted a ballot. */
  readonly #accepters = new Map<string, Set<string>>();
  /** The stores that began empty, or were emptied, after the quorum was founded. */
  readonly #emptied = new Set<SimulatedRecordService>();
  /** The stores that were emptied before, and not since. The first roster names them. */
  readonly #original = new Set<SimulatedRecordService>();
  readonly #chosen = new Map<string, { readonly ballot: Ballot; readonly write: string }>();
  readonly #past = new Set<string>();
  /** The accepted writes: the write that each was to replace, and its nonce. */
  readonly #writes = new Map<string, { readonly base: string | null; readonly nonce: string }>();
  /** The nonces of chosen writes, and of writes whose caller was told that they are not stored. */
  readonly #nonces = new Set<string>();
  readonly #refused = new Set<string>();
  /** The position of each chosen write in its election's sequence. */
  readonly #places = new Map<string, number>();
  readonly #holders = new Map<string, Holder[]>();
  /** The number of immediate breaks of an election that are under way. */
  readonly #ending = new Map<string, number>();
  readonly #lastTerms = new Map<string, number>();
  readonly #brokenTerms = new Map<string, number>();
  #violation: Broken | undefined;

  constructor(seed: number, keepsHistory: boolean) {
    this.#history = keepsHistory ? [] : undefined;
    this.#random = new SeededRandom(seed);
    const random = this.#random;
    this.#clock = new TrueTime(random.seed());
    this.#names = ["a", "b", "c", "d", "e"].slice(0, random.pick([3, 3, 5]));
    this.#majority = (this.#names.length + 1) / 2;
    this.#forgets = random.chance(0.7);
    this.#hasClocks = random.chance(0.4);
    this.#elections = ELECTIONS.slice(0, this.#forgets ? 3 : undefined);
    this.#wrongClock = random.chance(0.5) ? random.pick(this.#names) : undefined;
    this.#far = random.chance(0.2) ? random.pick(this.#names) : undefined;
    this.#isLossy = random.chance(0.08);
    this.#losesMessages = this.#isLossy;
    // A sequence of its own, so that the other runs stay as they were.
    const own = new SeededRandom(~seed);
    if (!this.#forgets && !this.#isLossy && own.chance(UNDURABLE))
      this.#undurable = new UndurableMember(own.pick(this.#names), own);
    for (const name of this.#names) this.#begin(name, this.#newService(name));
    for (let seat = 0; seat < SEATS; seat += 1) this.#start(seat);
  }

  get counted(): Omit<Played, "plan" | "violation"> {
    const [steps, requests, counts] = [this.#steps, this.#requests, this.counts];
    const virtualMs = this.#clock.monotonicMs();
    return { steps, requests, virtualMs, terms: counts.terms, faults: this.#befallen, counts, history: this.#history ?? [] };
  }

  /** Runs random orders and faults, and then lets a candidate lead. @throws {Broken} */
  async play(): Promise<void> {
    const random = this.#random;
    if (this.#isLossy) await this.#emptyInTurn();
    const orders = this.#isLossy ? 0 : random.pick(ORDERS);
    for (let order = 0; order < orders && !this.#violation; order += 1) {
      this.#steps += 1;
      if (random.chance(0.7)) this.#order(random.pick(this.#seats), random.pick(this.#elections));
      else await this.#befall();
      if (random.chance(0.1)) for (const name of this.#names) this.#backUp(name);
      await this.#clock.advance(random.pick([1, 20, 200, 600, 1_500]));
      this.#mendIfWell();
    }
    await this.#comeToRest();
    if (this.#violation) throw this.#violation;
  }

  async #comeToRest(): Promise<void> {
    this.#isCalm = true;
    this.#fault = undefined;
    this.#undurable?.mend();
    for (let seat = 0; seat < SEATS; seat += 1) this.#start(seat);
    for (const election of this.#shuffled(this.#elections).slice(0, SEEN_IN_THE_END)) {
      // Each store has been emptied, so a first write needs every member's answer several times. Losses would delay it at random.
      this.#losesMessages = this.#isLossy && this.#chosen.has(election);
      const before = this.counts.terms;
      for (let times = 0; times < 40 && this.counts.terms === before; times += 1) {
        if (this.#violation) return;
        for (const process of this.#seats) this.#claim(process, election);
        await this.#clock.advance(1_000);
      }
      if (this.counts.terms === before && !this.#isStuck(election))
        this.#violate("leader-returns", `nobody leads ${election} in the end`);
    }
    if (this.#far !== undefined && this.#emptied.size === 0) await this.#countOnFar(this.#far);
  }

  /** Checks that processes that only read soon know a far member, and go on with it while others are away. */
  async #countOnFar(far: string): Promise<void> {
    const [election = ""] = [...this.#chosen.keys()].filter((each) => each !== ROSTER);
    for (let seat = 0; seat < SEATS; seat += 1) this.#start(seat);
    const { signal } = new AbortController();
    let answers = 0;
    const look = async (consistent: boolean): Promise<void> => {
      const answered = new Set<Process>();
      for (const process of this.#seats) {
        const found = process.records.get(election, { consistent, signal, ...LIMITS });
        void found.then(() => answered.add(process)).catch(() => undefined);
      }
      await this.#clock.advance(1_000);
      answers = answered.size;
    };
    for (let times = 0; times < 5; times += 1) await look(false);
    const others = this.#names.filter((name) => name !== far);
    for (const name of others.slice(0, this.#names.length - this.#majority)) this.#away.add(name);
    for (let times = 0; times < 5 && answers < SEATS; times += 1) await look(true);
    if (answers < SEATS) this.#violate("leader-returns", `${far}, which is far, counts for ${answers} of ${SEATS} that look`);
  }

  /** Empties the members one after the other, on a network that loses messages. A candidate leads all the while. */
  async #emptyInTurn(): Promise<void> {
    const [election] = this.#elections as [string];
    const compete = async (forMs: number): Promise<void> => {
      for (let ms = 0; ms < forMs && !this.#violation; ms += 1_000) {
        const holders = this.#holders.get(election) ?? [];
        for (const holder of holders) this.#renew(holder, election);
        for (const process of this.#seats) if (!holders.some((one) => one.process === process)) this.#claim(process, election);
        await this.#clock.advance(1_000);
      }
    };
    for (let times = 0; times < 40 && !this.#chosen.has(election); times += 1) await compete(1_000);
    for (const name of this.#names) {
      await compete(BETWEEN_LOSSES_MS);
      this.#fail(name, "wiped");
      this.#fault = undefined;
    }
    await compete(BETWEEN_LOSSES_MS);
  }

  /**
   * Reports whether too few members are sure to have the last write of an election. Only a member counts that was neither emptied
   * nor rolled back. One member may have missed the write after it was emptied, because a process still used its former store;
   * another one has lost it since. If nothing was chosen, a member that has lost one promise may have lost more.
   */
  #isStuck(election: string): boolean {
    if (election !== ROSTER && !this.#chosen.has(ROSTER)) return this.#isStuck(ROSTER);
    const ballot = this.#chosen.get(election)?.ballot;
    const states = [...this.#services].map(([name, service]) => ({ name, service, note: noteOf(service, election) }));
    const promises = new Map(states.map(({ name, note }) => [name, note?.promised ?? undefined]));
    const steady = states.filter(
      ({ name, service }) =>
        !this.#emptied.has(service) && compareBallots(promises.get(name), this.#promised.get(`${name}/${election}`)) >= 0,
    );
    if (steady.length >= this.#majority) return false;
    if (!ballot) {
      const seen = states.flatMap(({ note }) => Object.entries(note?.seen ?? {}));
      return seen.some(([name, promised]) => compareBallots(promises.get(name), promised) < 0);
    }
    const keeping = states.filter(({ note }) => compareBallots(note?.accepted ?? undefined, ballot) >= 0);
    return keeping.length < this.#majority;
  }

  #violate(invariant: string, what: string): void {
    this.#note(`VIOLATED ${what}`);
    this.#violation ??= new Broken(invariant, what);
  }

  #note(what: string): void {
    this.#history?.push(`${(this.#clock.monotonicMs() / 1_000).toFixed(4).padStart(10)}  ${what}`);
  }

  #count(fault: string): void {
    this.#befallen.set(fault, (this.#befallen.get(fault) ?? 0) + 1);
  }

  #order(process: Process, election: string): void {
    const random = this.#random;
    if (process.busy.has(election) || !process.clock.running) return;
    const holder = this.#holders.get(election)?.find((one) => one.process === process);
    if (!holder) {
      const what = random.next();
      if (what < 0.8) this.#claim(process, election);
      else if (what < 0.9) this.#look(process, election);
      else if (what < 0.95) this.#break(process, election);
      else this.#transfer(process, election);
      return;
    }
    const what = random.next();
    if (what < 0.75) this.#renew(holder, election);
    else if (what < 0.88) this.#release(holder, election);
    else this.#seal(holder, election);
  }

  #call(process: Process, election: string, work: () => Promise<void>): void {
    if (process.busy.has(election) || !process.clock.running) return;
    process.busy.add(election);
    const ended = (): boolean => process.busy.delete(election);
    work().then(ended, (error: unknown) => {
      ended();
      if (!(error instanceof Error && "code" in error)) this.#violate("run-goes-on", String(error));
    });
  }

  #claim(process: Process, election: string): void {
    this.#call(process, election, async () => {
      const lastTerm = this.#lastTerms.get(election) ?? 0;
      const outcome = await process.leases.acquire({ election, candidateId: process.name, ...TIMES });
      if (!outcome.acquired) return;
      const { lease } = outcome;
      this.#note(`${process.name} leads ${election} in term ${lease.term}`);
      if (lease.term <= lastTerm) this.#violate("terms-rise", `term ${lease.term} of ${election} comes after ${lastTerm}`);
      this.counts.terms += 1;
      this.#lastTerms.set(election, Math.max(lease.term, this.#lastTerms.get(election) ?? 0));
      const holder = { process, lease, untilMs: 0 };
      this.#holders.set(election, [...(this.#holders.get(election) ?? []).filter((one) => one.process !== process), holder]);
      this.#extends(holder, election, lease.grantedAt.monotonicMs);
    });
  }

  #renew(holder: Holder, election: string): void {
    const { process, lease } = holder;
    this.#call(process, election, async () => {
      if (holder.untilMs <= this.#clock.monotonicMs()) return this.#ends(holder, election);
      const brokenTerm = this.#brokenTerms.get(election) ?? 0;
      const outcome = await process.leases.renew(lease, LIMITS);
      if (!outcome.held) return this.#ends(holder, election);
      if (!outcome.extendedAt) return;
      if (lease.term <= brokenTerm) this.#violate("break-holds", `term ${lease.term} of ${election} goes on, and was broken`);
      if (!this.#holders.get(election)?.includes(holder)) return;
      if (holder.untilMs <= this.#clock.monotonicMs()) return this.#ends(holder, election);
      this.counts.renewals += 1;
      this.#extends(holder, election, outcome.extendedAt.monotonicMs);
    });
  }

  #release(holder: Holder, election: string): void {
    const { process, lease } = holder;
    this.#ends(holder, election);
    this.#call(process, election, async () => {
      const holdMs = this.#random.pick([0, 0, 2_000]);
      if ((await process.leases.release(lease, { ...LIMITS, holdMs })) === "released") this.counts.releases += 1;
    });
  }

  #look(process: Process, election: string): void {
    this.#call(process, election, async () => {
      const consistent = this.#random.chance(0.5);
      const begun = process.places.get(election) ?? 0;
      const { signal } = new AbortController();
      const found = await process.records.get(election, { consistent, signal, ...LIMITS });
      this.counts.looks += 1;
      // Its polls may show what a failover undoes.
      if (this.#undurable) return;
      if (found && !this.#past.has(found.version))
        this.#violate("one-record", `a look at ${election} is answered what was never chosen`);
      const place = this.#places.get(found?.version ?? "") ?? 0;
      if (place < begun) this.#violate("one-record", `a look at ${election} is answered what had been seen replaced`);
      process.places.set(election, Math.max(place, process.places.get(election) ?? 0));
    });
  }

  #break(process: Process, election: string): void {
    const immediate = this.#random.chance(0.3);
    this.#call(process, election, async () => {
      // An immediate break ends a leader at an unknown time, until its call has returned.
      if (immediate) this.#ending.set(election, (this.#ending.get(election) ?? 0) + 1);
      const order = process.leases.break(election, { reason: "why not", immediate, ...LIMITS });
      const outcome = await order.finally(() => {
        if (!immediate) return;
        this.#ending.set(election, (this.#ending.get(election) ?? 0) - 1);
        this.#holders.delete(election);
      });
      if (!outcome.broken) return;
      this.counts.breaks += 1;
      this.#brokenTerms.set(election, Math.max(outcome.term, this.#brokenTerms.get(election) ?? 0));
    });
  }

  #transfer(process: Process, election: string): void {
    this.#call(process, election, async () => {
      const to = this.#random.pick(this.#seats).name;
      await process.leases.transfer(election, to, { transferTimeoutMs: 2_000, ...LIMITS });
      this.counts.transfers += 1;
    });
  }

  #seal(holder: Holder, election: string): void {
    const { process, lease } = holder;
    this.#call(process, election, async () => {
      const name = this.#random.pick(this.#names);
      const { losses } = this.counts;
      await process.records.seal(lease, name, LIMITS);
      this.counts.seals += 1;
      // The member may have shown the leadership before it was rolled back.
      if (this.counts.losses > losses) return;
      const service = process.services.get(name) as SimulatedRecordService;
      const record = service.record(election) as LeaseRecord | undefined;
      if (record && record.term < lease.term) this.#violate("fence", `${name} was sealed, and shows term ${record.term}`);
    });
  }

  #extends(holder: Holder, election: string, fromMs: number): void {
    holder.untilMs = Math.max(holder.untilMs, fromMs + LEASE_MS * (1 - SAFETY_MARGIN));
    const nowMs = this.#clock.monotonicMs();
    const leading = (this.#holders.get(election) ?? []).filter(({ untilMs }) => untilMs > nowMs);
    if (leading.length < 2 || (this.#ending.get(election) ?? 0) > 0) return;
    this.#violate(
      "one-leader",
      `two lead ${election}: ${leading.map(({ process, lease }) => `${process.name} (${lease.term})`).join(", ")}`,
    );
  }

  #ends(holder: Holder, election: string): void {
    const others = (this.#holders.get(election) ?? []).filter((one) => one !== holder);
    this.#holders.set(election, others);
  }

  /**
   * Ends the process of a seat, if there is one, and starts another one. It has the present stores of the members, or of most of
   * them.
   */
  #start(seat: number): void {
    const before = this.#seats[seat];
    before?.clock.kill();
    if (before)
      for (const holders of this.#holders.values())
        holders.splice(0, Infinity, ...holders.filter((one) => one.process !== before));
    this.#starts += 1;
    const clock = new ProcessClock(this.#clock);
    const services = new Map(this.#services);
    const members = this.#names.map((name) => {
      const service = services.get(name) as SimulatedRecordService;
      const connection = this.#connect(seat, name, service, clock);
      return [name, name === this.#far ? new ConnectingRecords(connection, clock, FAR_MS) : connection] as const;
    });
    this.#seats[seat] = new Process(`p${this.#starts}`, clock, services, Object.fromEntries(members), this.#onPut);
  }

  /** Returns a member's store as a process reaches it. The fault of a request may depend on its record. */
  #connect(seat: number, name: string, service: SimulatedRecordService, clock: ProcessClock): RecordStore {
    let subject = "";
    const passage = ({ operation }: { readonly operation: string }): Passage => {
      this.#requests += 1;
      return this.#twice(operation, this.#passage(seat, name, service, subject));
    };
    const connection = service.connect(clock, passage);
    return {
      name: connection.name,
      capabilities: connection.capabilities,
      get: (election, options) => {
        subject = election;
        return connection.get(election, options);
      },
      put: (election, record, options) => {
        subject = election;
        if (election === MARKER) this.#markings.set(service, [...(this.#markings.get(service) ?? []), [record, options]]);
        return connection.put(election, record, options);
      },
    };
  }

  #passage(seat: number, name: string, service: SimulatedRecordService, election: string): Passage {
    const random = this.#random;
    const farMs = name === this.#far ? FAR_MS / 2 : 0;
    const shortly = (): number => farMs + 0.1 + random.next() * 8;
    const prompt = { arrivals: [{ afterMs: shortly(), replyAfterMs: shortly() }] };
    if (this.#away.has(name)) return { arrivals: [] };
    if (this.#losesMessages && random.chance(LOSS)) return { arrivals: [] };
    if (this.#losesMessages && random.chance(LOSS)) return { arrivals: [{ afterMs: shortly() }] };
    if (this.#isCalm || this.#isLossy) return prompt;
    if (this.#first.has(name)) return { arrivals: [{ afterMs: 0.05, replyAfterMs: 0.05 }] };
    const lagsMs = this.#lagsMs.get(`${seat}/${name}`);
    if (lagsMs) return { arrivals: [{ afterMs: random.pick(lagsMs), replyAfterMs: shortly() }] };
    if (election === MARKER && this.#showsLate === name)
      return { arrivals: [{ afterMs: 0.1, replyAfterMs: random.between(20, 500) }] };
    if (this.#isStaged) return prompt;
    if (this.#cutOff.get(seat) === name) return { arrivals: [] };
    const isFaulty = this.#fault?.name === name && service === this.#services.get(name) && !isLoss(this.#fault.how);
    const how = isFaulty ? this.#fault?.how : !this.#forgets && random.chance(0.15) ? random.pick(FAULTS) : undefined;
    switch (how) {
      case "down":
        return { arrivals: [] };
      case "hangs":
        return { arrivals: [{ afterMs: shortly(), replyAfterMs: 30_000 }] };
      case "lags":
        return { arrivals: [{ afterMs: random.between(0, 500), replyAfterMs: random.between(0, 200) }] };
      case "is late":
        return { arrivals: [{ afterMs: random.pick([300, 2_000, 15_000]) }] };
      case "loses replies":
        return { arrivals: [{ afterMs: shortly() }] };
      case "refuses": {
        const details = { store: name, operation: "any", mayHaveBeenApplied: false };
        return { arrivals: [], breaks: { afterMs: shortly(), error: new StoreError("STORE_UNAVAILABLE", "refused", details) } };
      }
      default:
        return prompt;
    }
  }

  /** Makes a write arrive again, much later. */
  #twice(operation: string, passage: Passage): Passage {
    if (operation !== "put" || passage.arrivals.length === 0 || !this.#random.chance(0.1)) return passage;
    return { ...passage, arrivals: [...passage.arrivals, { afterMs: this.#random.pick([300, 2_000, 15_000]) }] };
  }

  async #befall(): Promise<void> {
    const random = this.#random;
    const seat = Math.floor(random.next() * SEATS);
    const undurable = this.#undurable;
    if (undurable?.stages()) return await this.#stage(() => this.#loseRivalsAccept(undurable));
    const event = undurable?.befall();
    if (undurable && event !== undefined) {
      this.#note(`${undurable.name} ${event}`);
      this.#count(event);
    } else if (random.chance(0.2)) {
      this.#note(`${this.#seats[seat]?.name} crashes`);
      this.#count("crash");
      this.#start(seat);
    } else if (!this.#forgets && random.chance(0.1)) {
      this.#freeze(this.#seats[seat] as Process);
    } else if (!this.#forgets && random.chance(0.7)) {
      this.#cutOff.set(seat, random.chance(0.7) ? random.pick(this.#names) : undefined);
    } else if (this.#fault) {
      if (!isLoss(this.#fault.how)) this.#mended();
    } else if (
      this.#undurable === undefined &&
      this.#clock.monotonicMs() > this.#mendedMs + BETWEEN_FAULTS_MS &&
      this.#chosen.has(ROSTER)
    ) {
      const scene = random.next();
      if (scene < 0.3)
        return await this.#stage(() => (this.#forgets && scene < 0.2 ? this.#forgetOrder() : this.#emptyWhereMissed()));
      const isForgotten = this.#forgets && random.chance(0.5);
      if (this.#seats.some(({ clock }) => !clock.running)) return;
      const how = random.pick(isForgotten ? LOSSES : this.#forgets ? FAULTS : NOTICED);
      this.#fail(random.pick(this.#names), how);
      if (how === "replaced") await this.#stage(() => this.#cross());
    }
  }

  /**
   * Freezes a process in the middle of its work. No member loses anything until the process has resumed and finished that work.
   */
  #freeze({ name, clock }: Process): void {
    if (!clock.running || (this.#fault && isLoss(this.#fault.how))) return;
    this.#note(`${name} is frozen`);
    this.#count("freeze");
    clock.pause();
    const thaw = (): void => {
      this.#note(`${name} goes on`);
      clock.resume();
      this.#mendedMs = this.#clock.monotonicMs();
    };
    this.#clock.setTimer(thaw, this.#random.between(0, LONGEST_FREEZE_MS));
  }

  #fail(name: string, how: How): void {
    this.#count(how);
    if (!isLoss(how)) {
      this.#fault = { name, how };
      this.counts.faults += 1;
      this.#note(`${name} ${how}`);
      return;
    }
    const service = this.#services.get(name) as SimulatedRecordService;
    if (how === "replaced") {
      this.#begin(name, this.#newService(name));
      this.#emptied.add(this.#services.get(name) as SimulatedRecordService);
    } else if (how === "wiped") {
      this.#emptied.add(service);
      if (this.#chosen.has(ROSTER)) this.#original.delete(service);
      else this.#original.add(service);
      for (const election of RECORDS) service.remove(election);
      for (const election of RECORDS) this.#promised.delete(`${name}/${election}`);
    } else {
      const backup = this.#random.pick(this.#backups.get(name) ?? []);
      // A backup without a marker would be another loss: see "wiped".
      if (!backup?.get(MARKER)) return;
      // A process with the former stores of most members would see nothing newer. So it gets the new stores before the next one
      // is replaced.
      for (const [seat, process] of this.#seats.entries()) if (this.#formerOf(process) >= this.#majority) this.#start(seat);
      for (const election of RECORDS) service.restore(election, backup.get(election));
    }
    this.#fault = { name, how };
    this.counts.losses += 1;
    this.#note(`${name} is ${how}`);
    if (how === "replaced") this.#startAfterReplacement(name);
  }

  /**
   * Starts one process with the new store; the others keep the former one. If no member forgets, the two groups reach different
   * members among the others.
   */
  #startAfterReplacement(name: string): void {
    const renewed = Math.floor(this.#random.next() * SEATS);
    this.#start(renewed);
    if (this.#forgets) return;
    const others = this.#names.filter((other) => other !== name);
    const [one, other] = [this.#random.pick(others), this.#random.pick(others)];
    for (let seat = 0; seat < SEATS; seat += 1)
      if (this.#random.chance(0.7)) this.#cutOff.set(seat, seat === renewed ? one : other);
  }

  /**
   * Ends the fault of a member that has forgotten, once each election there was written anew by a process that knows its store.
   */
  #mendIfWell(): void {
    const { name, how } = this.#fault ?? {};
    if (name === undefined || how === undefined || !isLoss(how)) return;
    const service = this.#services.get(name) as SimulatedRecordService;
    const marker = noteOf(service, MARKER)?.write;
    const isWell = [...this.#chosen.keys()].every((election) => {
      const note = noteOf(service, election);
      if (election === ROSTER) return note?.accepted && compareBallots(note.accepted, this.#chosen.get(ROSTER)?.ballot) >= 0;
      // Less than a majority has the forgotten order, until this member has it again.
      if (election === this.#overlooked && compareBallots(note?.accepted ?? undefined, this.#chosen.get(election)?.ballot) < 0)
        return false;
      const most = this.#promised.get(`${name}/${election}`);
      return note?.members[name] === marker && note?.accepted && note.promised && compareBallots(note.promised, most) >= 0;
    });
    if (isWell && marker) this.#mended();
  }

  /** Waits until earlier calls have ended, and then plays a schedule that seldom comes about by itself. */
  async #stage(play: () => Promise<void>): Promise<void> {
    this.#isStaged = true;
    await this.#clock.advance(700);
    await play();
    this.#away.clear();
    this.#lagsMs.clear();
    this.#showsLate = undefined;
    this.#isStaged = false;
  }

  /** Returns for how many members a process has the former store; these are missing for it. */
  #formerOf({ services }: Process): number {
    return this.#names.filter((name) => services.get(name) !== this.#services.get(name)).length;
  }

  #shuffled<T>(things: readonly T[]): readonly T[] {
    return things
      .map((thing) => ({ thing, at: this.#random.next() }))
      .toSorted((one, other) => one.at - other.at)
      .map(({ thing }) => thing);
  }

  /**
   * Orders a break that some members miss, and rolls one member that had it back to before it. The remaining members, which
   * answer first, are enough to find it.
   */
  async #forgetOrder(): Promise<void> {
    const random = this.#random;
    const election = random.pick(this.#elections);
    if (this.#seats.some((process) => this.#formerOf(process) > 0)) return;
    const holder = this.#holders.get(election)?.findLast(({ process }) => !process.busy.has(election));
    const rival = random.pick(this.#seats);
    if (!holder || rival === holder.process || rival.busy.has(election)) return;
    this.#renew(holder, election);
    await this.#clock.advance(700);
    const names = this.#shuffled(this.#names);
    const name = names[0] as string;
    const service = this.#services.get(name) as SimulatedRecordService;
    const backup = RECORDS.map((record) => [record, service.backUp(record)] as const);
    for (const away of names.slice(this.#majority)) this.#away.add(away);
    const { breaks } = this.counts;
    this.#break(rival, election);
    for (let times = 0; times < 35 && rival.busy.has(election); times += 1) await this.#clock.advance(20);
    this.#away.clear();
    if (this.counts.breaks === breaks || rival.busy.has(election)) return;
    for (const [record, one] of backup) service.restore(record, one);
    this.#fault = { name, how: "rolled back" };
    this.#count("order forgotten");
    this.#overlooked = election;
    for (const first of names.slice(1, this.#majority)) this.#first.add(first);
    this.counts.losses += 1;
    this.counts.stages += 1;
    this.#note(`${name} is rolled back to before the break of ${election}`);
    await this.#clock.advance(random.pick([1, 200]));
    this.#renew(holder, election);
  }

  /**
   * Lets a renewal reach a minority alone. All others have accepted a break, which the undurable member shows and has not
   * acknowledged. The holder reads that. Then the member loses the break, and another process reaches it and the minority alone.
   */
  async #loseRivalsAccept(undurable: UndurableMember): Promise<void> {
    const { name } = undurable;
    const election = this.#random.pick(this.#elections);
    undurable.mend();
    const holder = this.#holders.get(election)?.findLast(({ process }) => !process.busy.has(election));
    const [rival, third] = this.#shuffled(this.#seats).filter((process) => process !== holder?.process);
    if (!holder || !rival || !third || this.#seats.some(({ busy, clock }) => busy.has(election) || !clock.running)) return;
    this.#renew(holder, election);
    await this.#clock.advance(300);
    const others = this.#shuffled(this.#names.filter((other) => other !== name));
    const [minority, rest] = [others.slice(0, this.#majority - 1), others.slice(this.#majority - 1)];
    const [ownSeat, rivalSeat] = [this.#seats.indexOf(holder.process), this.#seats.indexOf(rival)];
    for (const other of minority) this.#lagsMs.set(`${rivalSeat}/${other}`, [2_000]);
    this.#lagsMs.set(`${rivalSeat}/${name}`, [40]);
    for (const other of [name, ...rest]) this.#lagsMs.set(`${ownSeat}/${other}`, [2_000]);
    const promised = (): string | undefined =>
      noteOf(this.#services.get(name) as SimulatedRecordService, election)?.promised?.proposer;
    const before = promised();
    this.#break(rival, election);
    for (let times = 0; times < 120 && promised() === before; times += 1) await this.#clock.advance(5);
    await this.#clock.advance(10);
    undurable.cutOff();
    this.#renew(holder, election);
    await this.#clock.advance(100);
    for (const other of [name, ...rest]) this.#lagsMs.delete(`${ownSeat}/${other}`);
    await this.#clock.advance(600);
    undurable.failOver();
    this.counts.stages += 1;
    this.#count("accept of a rival lost");
    for (const away of rest) this.#away.add(away);
    this.#transfer(third, election);
    await this.#clock.advance(700);
  }

  /** When a store has just been replaced, lets one process after the other write to one election, from different distances. */
  async #cross(): Promise<void> {
    const random = this.#random;
    const [election, other] = this.#shuffled(this.#elections) as [string, string];
    const renewed = this.#seats.findIndex((process) => this.#formerOf(process) === 0);
    const roster = this.#chosen.get(ROSTER)?.write;
    for (let times = 0; times < 20 && this.#chosen.get(ROSTER)?.write === roster; times += 1) {
      this.#transfer(this.#seats[renewed] as Process, other);
      await this.#clock.advance(200);
    }
    await this.#clock.advance(700);
    const [late, former] = [0, 1, 2].filter((seat) => seat !== renewed) as [number, number];
    const near = random.pick(this.#names);
    for (const name of this.#names) this.#lagsMs.set(`${late}/${name}`, name === near ? [15, 130] : [random.between(110, 140)]);
    const begins = [
      { seat: late, atMs: 0 },
      { seat: former, atMs: random.between(100, 200) },
      { seat: renewed, atMs: random.between(180, 310) },
    ].toSorted((one, next) => one.atMs - next.atMs);
    this.counts.stages += 1;
    let nowMs = 0;
    for (const { seat, atMs } of begins) {
      await this.#clock.advance(atMs - nowMs);
      nowMs = atMs;
      this.#transfer(this.#seats[seat] as Process, election);
    }
    await this.#clock.advance(700);
  }

  /**
   * Begins an election while some members are away, and empties one that has it. For the others, it and those members are a
   * majority. The writes of its marker may arrive again, and a read from before the loss may end late.
   */
  async #emptyWhereMissed(): Promise<void> {
    const random = this.#random;
    const election = ELECTIONS.find((one) => !this.#chosen.has(one));
    if (election === undefined || this.#seats.some((process) => this.#formerOf(process) > 0)) return;
    const names = this.#shuffled(this.#names);
    const [name] = names as [string];
    const missing = names.slice(this.#majority);
    for (const away of missing) this.#away.add(away);
    this.#claim(random.pick(this.#seats), election);
    await this.#clock.advance(700);
    this.#away.clear();
    if (!this.#chosen.has(election)) return;
    if (!this.#elections.includes(election)) this.#elections.push(election);
    const { signal } = new AbortController();
    this.#showsLate = name;
    for (const { records } of this.#seats) {
      for (const any of ["any", "another", "a third", "a fourth", "a fifth"])
        void records.get(any, { consistent: true, signal, timeoutMs: 4_000 }).catch(() => undefined);
    }
    await this.#clock.advance(20);
    this.#showsLate = undefined;
    this.#fail(name, "wiped");
    this.counts.stages += 1;
    const service = this.#services.get(name) as SimulatedRecordService;
    if (random.chance(0.5))
      for (const [record, options] of this.#markings.get(service) ?? []) service.put(MARKER, record, options);
    for (const away of names.slice(1, this.#majority)) this.#away.add(away);
    for (let seat = 0; seat < SEATS; seat += 1)
      for (const slow of missing) this.#lagsMs.set(`${seat}/${slow}`, [random.between(20, 140)]);
    for (const process of this.#seats) this.#claim(process, election);
    await this.#clock.advance(700);
  }

  #mended(): void {
    this.#first.clear();
    this.#overlooked = undefined;
    this.#note(`${this.#fault?.name} is well`);
    this.#fault = undefined;
    this.#mendedMs = this.#clock.monotonicMs();
  }

  #begin(name: string, service: SimulatedRecordService): void {
    this.#services.set(name, service);
    this.#backups.set(name, []);
    for (const election of RECORDS) this.#promised.delete(`${name}/${election}`);
  }

  #backUp(name: string): void {
    const service = this.#services.get(name) as SimulatedRecordService;
    const backups = this.#backups.get(name) as Array<ReadonlyMap<string, RecordBackup>>;
    backups.push(new Map(RECORDS.map((election) => [election, service.backUp(election)])));
    if (backups.length > 6) backups.shift();
  }

  #newService(name: string): SimulatedRecordService {
    const rate = this.#wrongClock === name ? 3 : this.#random.between(0.98, 1.02);
    const storeClock = this.#hasClocks ? ({ toleranceMs: 0, exact: true, mayStep: false } as const) : undefined;
    const showsUndurable = this.#undurable?.name === name;
    const service = new SimulatedRecordService(this.#clock, { storeClock, clockRate: rate, showsUndurable });
    const onDurable = (write: AcceptedWrite): void => this.#accepted(service, name, write);
    if (showsUndurable) this.#undurable?.watch(service, onDurable);
    else service.onAccepted = onDurable;
    return service;
  }

  readonly #onPut = (election: string, nonce: string, { stored }: PutOutcome): void => {
    if (stored !== this.#nonces.has(nonce))
      this.#violate("one-record", `a put of ${election} is told that it was ${stored ? "" : "not "}stored`);
    if (!stored) this.#refused.add(nonce);
  };

  /** Checks that of any two writes that a majority has accepted one has replaced the other, directly or through others. */
  #accepted(service: SimulatedRecordService, name: string, { election, before: replaced, record }: AcceptedWrite): void {
    if (election === MARKER) return;
    const { roster, promised, accepted, write, base: noted } = JSON.parse(record.quorum ?? "") as Note;
    // No process uses a claim. The first rosters, of which each replaces a claim, are those that may not be two.
    const number = election === ROSTER && record.value !== undefined ? numberIn(record.value) : undefined;
    const base = number === 1 ? null : noted;
    const before = replaced && (JSON.parse(replaced.quorum ?? "") as Note);
    const key = `${name}/${election}`;
    const isPromise = compareBallots(accepted ?? undefined, before?.accepted ?? undefined) === 0;
    if (isPromise && before && roster < before.roster) this.#violate("one-record", `${name} promises by a roster that is past`);
    if (promised && service === this.#services.get(name) && compareBallots(promised, this.#promised.get(key)) > 0)
      this.#promised.set(key, promised);
    if (this.#history) {
      const former = service === this.#services.get(name) ? "" : " (former)";
      const ballots = `promised ${shownBallot(promised)}, accepted ${shownBallot(accepted)}`;
      this.#note(`${name}${former} keeps of ${election}: ${ballots}, write ${write?.slice(0, 4)} for ${base?.slice(0, 4)}`);
    }
    // A promise changes nothing about accepted writes.
    if (!accepted || write === null || isPromise || number === 0) return;
    this.#writes.set(write, { base, nonce: record.nonce });
    const ballot = `${election}/${accepted.round}/${accepted.proposer}`;
    const accepters = this.#accepters.get(ballot) ?? new Set();
    const isPrepared = Boolean(before?.accepted) || compareBallots(before?.promised ?? undefined, accepted) === 0;
    const others = [...accepters].filter((one) => one !== name).length;
    if (this.#emptied.has(service) && !this.#original.has(service) && !isPrepared && others < this.#majority)
      this.#violate("one-record", `${name}, which was emptied, is given ${write} of ${election} before the others have it`);
    this.#accepters.set(ballot, accepters.add(name));
    if (accepters.size < this.#majority) return;
    const last = this.#chosen.get(election);
    if (last && compareBallots(accepted, last.ballot) < 0) {
      // No caller may learn that an order was stored that one member has forgotten and the rest is about to show.
      if (!this.#past.has(write) && election !== this.#overlooked)
        this.#violate("one-record", `${write} of ${election} is chosen below ${last.write}`);
      return;
    }
    this.#chosen.set(election, { ballot: accepted, write });
    if (last?.write === write) return;
    const chain = this.#chainTo(write, last?.write ?? null);
    if (!chain) this.#violate("one-record", `${write} of ${election} replaces ${base}, which ${last?.write} has replaced`);
    for (const [one, nonce] of chain ?? [[write, record.nonce]]) {
      this.#past.add(one);
      this.#nonces.add(nonce);
      if (this.#refused.has(nonce)) this.#violate("one-record", `${one} of ${election} is chosen, and was told not to be`);
    }
    this.#places.set(write, this.#places.size + 1);
  }

  /**
   * Returns a chosen write and its nonce. Before it come the writes that it has replaced since the last chosen one. An undurable
   * member showed those, and they were not chosen by themselves. Returns `undefined` if it has not replaced the last one.
   */
  #chainTo(write: string, last: string | null): ReadonlyArray<readonly [write: string, nonce: string]> | undefined {
    const { base, nonce } = this.#writes.get(write) ?? {};
    if (base === undefined || nonce === undefined) return undefined;
    if (base === last) return [[write, nonce]];
    const before = this.#undurable && base !== null ? this.#chainTo(base, last) : undefined;
    return before && [...before, [write, nonce]];
  }
}

function isLoss(how: How): boolean {
  return (LOSSES as readonly How[]).includes(how);
}

function numberIn(roster: string): number {
  return (JSON.parse(roster) as { number: number }).number;
}

function shownBallot(ballot: Ballot | null): string {
  return ballot ? `${ballot.round}.${ballot.proposer.slice(0, 4)}` : "none";
}

function noteOf(service: SimulatedRecordService, election: string): Note | undefined {
  const { quorum } = (service.record(election) ?? {}) as Partial<LeaseRecord>;
  return quorum === undefined ? undefined : (JSON.parse(quorum) as Note);
}

import { StoreError } from "@leasehold/core";
import type { LeaseRecord, RecordStore } from "@leasehold/core/provider";
import {
  SimulatedRecordService,
  type AcceptedWrite,
  type Network,
  type Passage,
  type ProcessClock,
  type RecordBackup,
  type SeededRandom,
  type SimulatedRecordServiceOptions,
  type VirtualClock,
} from "@leasehold/core/testing";
import { QuorumLeaseStore } from "@leasehold/quorum";
import type { RecordService } from "./record-store.ts";
import { ELECTION, type MemberFault, type MemberFaults } from "./simulated-store.ts";

const NAMES = ["a", "b", "c", "d", "e"] as const;
/** Longer than any call, so that calls from the time of one member's fault end before the next fault. */
const BETWEEN_FAULTS_MS = 5_100;
/** The records in which a quorum keeps its list of members, besides the elections. */
const MARKER = "leasehold-quorum-marker";
const ROSTER = "leasehold-quorum-members";
/** The number of states to which a member may be rolled back. */
const BACKUPS = 40;

interface Ballot {
  readonly round: number;
  readonly proposer: string;
}

/** The parts of a member's note that are used here. */
interface Note {
  readonly members: Readonly<Record<string, string>>;
  readonly promised: Ballot | null;
  readonly accepted: Ballot | null;
  readonly write: string | null;
  readonly base: string | null;
}

/** The part of a roster that is used here. */
interface Roster {
  readonly number: number;
  readonly incarnations: Readonly<Record<string, string>>;
}

/** The record of an election that a majority has chosen. */
interface Chosen {
  readonly ballot: Ballot;
  readonly write: string;
  readonly record: LeaseRecord;
}

/** A store that was a member's until another one replaced it. */
interface Former {
  readonly member: number;
  service: SimulatedRecordService;
  /** The processes that still have it. */
  processes: ReadonlySet<ProcessClock>;
  laggards: number;
  /** True if no process reaches it. */
  readonly isAway: boolean;
  /** True if no process has started since. */
  isFirst: boolean;
  /** Until this time, processes with the former and with the present store reach different other members. */
  splitUntilMs: number;
}

/** Three or five services that make one. It knows everything that each has accepted, and so what was chosen. */
export class QuorumService implements RecordService, MemberFaults {
  /** The number of members: three, or sometimes five. */
  readonly count: number;
  onAccepted: ((write: AcceptedWrite) => void) | undefined;
  onForked: ((what: string) => void) | undefined;
  readonly #world: VirtualClock;
  readonly #random: SeededRandom;
  readonly #options: SimulatedRecordServiceOptions;
  readonly #services: SimulatedRecordService[];
  readonly #names: readonly string[];
  readonly #majority: number;
  /**
   * True if members may forget in this run. Then the others answer, because a lost request is a second fault. In other runs every
   * request to a member has the network of its process.
   */
  readonly #forgets: boolean;
  /** The members that have ever accepted each ballot. */
  readonly #accepters = new Map<string, Set<number>>();
  readonly #sentMs = new Map<string, number>();
  /** The time at which each write first came to each member. */
  readonly #stored = new Map<string, Map<number, number>>();
  /** The time at which each write was first shown to each process. */
  readonly #shownMs = new Map<string, Map<ProcessClock, number>>();
  /** The process that has sent each write first. */
  readonly #writers = new Map<string, ProcessClock>();
  readonly #chosen = new Map<string, Chosen>();
  readonly #past = new Set<string>();
  readonly #backups: RecordBackup[][] = NAMES.map(() => [undefined]);
  /** The highest promise that each member has ever made. */
  readonly #promised: Array<Ballot | undefined> = NAMES.map(() => undefined);
  #fault: { readonly member: number; readonly how: MemberFault } | undefined;
  #mendedMs = -Infinity;
  /** The store of one member until another one replaced it. */
  #former: Former | undefined;
  readonly #processes = new Set<ProcessClock>();
  #spoilt: RecordBackup[] | undefined;
  #isCalm = false;
  /** The known elections. */
  readonly #elections = new Set<string>();
  /** The members that were emptied, or got an empty store. */
  readonly #emptied = new Set<number>();

  constructor(world: VirtualClock, random: SeededRandom, options: SimulatedRecordServiceOptions) {
    this.#world = world;
    this.#random = random;
    this.#options = options;
    this.#forgets = random.chance(0.5);
    this.#names = NAMES.slice(0, random.pick([3, 3, 3, 5]));
    this.count = this.#names.length;
    this.#majority = (this.count + 1) / 2;
    this.#services = this.#names.map((_, member) => this.#newService(member));
  }

  connect(process: ProcessClock, network: Network): RecordStore {
    this.#processes.add(process);
    const former = this.#startsWithFormer() ? this.#former : undefined;
    if (former) former.processes = new Set([...former.processes, process]);
    const members = this.#names.map((name, member) => {
      const service = former?.member === member ? former.service : (this.#services[member] as SimulatedRecordService);
      const connection = service.connect(process, (request) => this.#passage(process, service, member, network(request)));
      return [name, this.#watched(connection, process)] as const;
    });
    return new QuorumLeaseStore({ members: Object.fromEntries(members), clock: process, logger: false }).records;
  }

  /** Records which writes a member shows. */
  #watched(records: RecordStore, process: ProcessClock): RecordStore {
    const get: RecordStore["get"] = async (election, options) => {
      const stored = await records.get(election, options);
      const { write } = noteOf(stored?.data as LeaseRecord | undefined);
      if (typeof write !== "string") return stored;
      const shownMs = this.#shownMs.get(write) ?? new Map<ProcessClock, number>();
      if (!shownMs.has(process)) this.#shownMs.set(write, shownMs.set(process, this.#world.monotonicMs()));
      return stored;
    };
    const put: RecordStore["put"] = async (election, record, options) => {
      const { write } = noteOf(record);
      if (typeof write === "string" && !this.#writers.has(write)) this.#writers.set(write, process);
      return await records.put(election, record, options);
    };
    return { name: records.name, capabilities: records.capabilities, get, put };
  }

  admits(election: string, { term, termId }: { readonly term: number; readonly termId: string }): boolean {
    const record = this.#chosen.get(election)?.record;
    return record?.term === term && record.termId === termId && !record.broken;
  }

  /** Corrupts all members, and restores them at the next call. The chosen record then is the same as before. */
  overwrite(election: string, data: unknown): void {
    const before = this.#spoilt;
    const services = this.#former ? [...this.#services, this.#former.service] : this.#services;
    this.#spoilt = before ? undefined : services.map((service) => service.backUp(election));
    for (const [member, service] of services.entries()) {
      if (before) service.restore(election, before[member]);
      else service.overwrite(election, data);
    }
  }

  fail(member: number, how: MemberFault): boolean {
    const isEarly = this.#world.monotonicMs() < this.#mendedMs + BETWEEN_FAULTS_MS;
    // A quorum begins with all of its members.
    const isFounded = this.#chosen.has(ROSTER);
    if (this.#fault || isEarly || this.#spoilt || !isFounded) return false;
    // A process with a former store continues with the others, so for it one member is down already.
    if (isLoss(how) && (!this.#forgets || this.#isReplacing())) return false;
    if (isLoss(how) && this.#former) this.#former.laggards = 0;
    if (how === "wiped") {
      this.#emptied.add(member);
      for (const election of [MARKER, ROSTER]) this.#services[member]?.remove(election);
    }
    if (isLoss(how)) {
      const backups = this.#backups[member] as RecordBackup[];
      const back = this.#random.pick([0, 1, 2, Math.floor(this.#random.next() * BACKUPS)]);
      this.#services[member]?.restore(ELECTION, how === "wiped" ? undefined : backups[Math.max(backups.length - 2 - back, 0)]);
    }
    this.#fault = { member, how };
    return true;
  }

  get keepsAll(): boolean {
    return this.#emptied.size < this.#majority;
  }

  mend(member: number): void {
    const { how } = this.#fault ?? {};
    if (this.#fault?.member !== member || !how || isLoss(how)) return;
    this.#mended();
  }

  replace(member: number, laggards: number, leaves: boolean): boolean {
    const isOthers = this.#fault && (this.#fault.member !== member || isLoss(this.#fault.how));
    if (this.#former || isOthers || this.#spoilt) return false;
    const service = this.#services[member] as SimulatedRecordService;
    const isFounded = this.#chosen.has(ROSTER);
    this.#former = {
      member,
      service,
      processes: new Set(this.#processes),
      laggards,
      // A quorum begins with all of its members.
      isAway: isFounded && (leaves || this.#fault !== undefined),
      isFirst: true,
      splitUntilMs: -Infinity,
    };
    this.#fault = undefined;
    this.#emptied.add(member);
    this.#begin(member, this.#newService(member));
    return true;
  }

  split(forMs: number): void {
    // If one member has forgotten, a lost request is a second fault.
    if (this.#former && !(this.#fault && isLoss(this.#fault.how))) this.#former.splitUntilMs = this.#world.monotonicMs() + forMs;
  }

  endFormer(): ReadonlySet<ProcessClock> {
    if (this.#former) this.#former.laggards = 0;
    return this.#former?.processes ?? new Set();
  }

  calmDown(): void {
    this.#isCalm = true;
  }

  /** A quorum may have begun with two stores of one member. Either may be the one that the other has replaced. */
  #seeReplaced({ incarnations }: Roster): void {
    const former = this.#former;
    if (!former) return;
    const { member, service, processes } = former;
    const marker = noteOf(service.record(MARKER) as LeaseRecord | undefined).write;
    if (marker === null || marker !== incarnations[this.#names[member] as string]) return;
    former.service = this.#services[member] as SimulatedRecordService;
    former.processes = this.#processes.difference(processes);
    this.#begin(member, service);
  }

  /** A member has this store from now on. */
  #begin(member: number, service: SimulatedRecordService): void {
    this.#services[member] = service;
    this.#backups[member] = [undefined];
    this.#promised[member] = undefined;
  }

  #newService(member: number): SimulatedRecordService {
    const service = new SimulatedRecordService(this.#world, this.#options);
    service.onAccepted = (write) => this.#accepted(service, member, write);
    return service;
  }

  #startsWithFormer(): boolean {
    const former = this.#former;
    if (!former || former.isFirst) {
      if (former) former.isFirst = false;
      return false;
    }
    return former.laggards > 0 && !this.#isCalm && this.#random.chance(former.laggards);
  }

  /** True while a new store does not count for each election yet, or a process still has the former one. */
  #isReplacing(): boolean {
    if (!this.#former) return false;
    const { member, processes, splitUntilMs } = this.#former;
    const isSplit = this.#world.monotonicMs() < splitUntilMs + BETWEEN_FAULTS_MS;
    return isSplit || !this.#isTakenIn(member) || [...processes].some(({ alive }) => alive);
  }

  /** True for a member that this process does not reach while processes with different stores of one member are split. */
  #isBeyond(process: ProcessClock, member: number): boolean {
    const former = this.#former;
    if (!former || this.#world.monotonicMs() >= former.splitUntilMs || member === former.member) return false;
    const others = this.#names
      .keys()
      .filter((each) => each !== former.member)
      .toArray();
    return others.indexOf(member) < this.#majority - 1 === former.processes.has(process);
  }

  #passage(process: ProcessClock, service: SimulatedRecordService, member: number, networkFaults: Passage): Passage {
    const isFormer = service === this.#former?.service;
    if (isFormer && this.#former?.isAway) return { arrivals: [] };
    if (this.#isCalm) return networkFaults;
    if (this.#isBeyond(process, member)) return { arrivals: [] };
    const prompt = (): number => 0.1 + this.#random.next() * 15;
    const passage = this.#forgets ? { arrivals: [{ afterMs: prompt(), replyAfterMs: prompt() }] } : networkFaults;
    if (this.#fault?.member !== member || isFormer) return passage;
    switch (this.#fault.how) {
      case "down":
        return { arrivals: [] };
      case "hangs":
        return { arrivals: [{ afterMs: prompt(), replyAfterMs: 60_000 }] };
      case "lags":
        return { arrivals: [{ afterMs: this.#random.between(0, 1_500), replyAfterMs: this.#random.between(0, 500) }] };
      case "refuses": {
        const details = { store: "simulated", operation: "any", mayHaveBeenApplied: false };
        return { arrivals: [], breaks: { afterMs: prompt(), error: new StoreError("STORE_UNAVAILABLE", "refused", details) } };
      }
      default:
        return passage;
    }
  }

  #accepted(service: SimulatedRecordService, member: number, { election, record, atMs, sentMs }: AcceptedWrite): void {
    const { promised, accepted, write, base } = noteOf(record);
    // The elections that continue to be written. An occurrence, whose name begins like its election's, is left out.
    const isOccurrence = election !== ELECTION && election.startsWith(ELECTION);
    if (election !== MARKER && election !== ROSTER && !isOccurrence) this.#elections.add(election);
    const isPresent = service === this.#services[member];
    if (election === ELECTION && isPresent) {
      const backups = this.#backups[member] as RecordBackup[];
      backups.push(this.#services[member]?.backUp(election));
      if (backups.length > BACKUPS) backups.splice(1, 1);
      const most = this.#promised[member];
      if (promised && !(most && isBelow(promised, most))) this.#promised[member] = promised;
    }
    if (isPresent) this.#noticeHealth(member);
    if (accepted === null || write === null) return;
    // No process uses a claim of a quorum. Of the first rosters, each of which replaces a claim, there may be only one.
    const roster = election === ROSTER ? (JSON.parse(record.value ?? "") as Roster).number : undefined;
    if (roster === 0) return;
    const ballot = `${election}/${accepted.round}/${accepted.proposer}/`;
    const accepters = this.#accepters.get(ballot) ?? new Set();
    this.#accepters.set(ballot, accepters.add(member));
    if (!this.#sentMs.has(write)) this.#sentMs.set(write, sentMs);
    const stored = this.#stored.get(write) ?? new Map<number, number>();
    if (!stored.has(member)) this.#stored.set(write, stored.set(member, atMs));
    if (accepters.size !== this.#majority || this.#past.has(ballot)) return;
    this.#past.add(ballot);
    const { schema: _, quorum: __, ...kept } = record;
    this.#choose(election, { ballot: accepted, write, record: { ...kept, schema: 3 } }, roster === 1 ? null : base, atMs);
  }

  #choose(election: string, chosen: Chosen, base: string | null, atMs: number): void {
    const last = this.#chosen.get(election);
    if (last && isBelow(chosen.ballot, last.ballot)) {
      if (!this.#past.has(chosen.write))
        this.onForked?.(`${chosen.write} is chosen below ${last.write}, which has not replaced it`);
      return;
    }
    if (last?.write === chosen.write) {
      this.#chosen.set(election, chosen);
      return;
    }
    if ((last?.write ?? null) !== base) this.onForked?.(`${chosen.write} replaces ${base}, which ${last?.write} has replaced`);
    this.#past.add(chosen.write);
    this.#chosen.set(election, chosen);
    if (election === ROSTER) {
      this.#seeReplaced(JSON.parse(chosen.record.value ?? "") as Roster);
      return;
    }
    const sentMs = this.#sentMs.get(chosen.write) ?? atMs;
    // The time since which a majority has it, under any ballots. Ages count from it.
    const heldMs = [...(this.#stored.get(chosen.write) ?? [])].map(([, ms]) => ms).toSorted((one, other) => one - other)[
      this.#majority - 1
    ];
    // A process that a member showed it to counts from then, while it lives. Its writer does not count so.
    const writer = this.#writers.get(chosen.write);
    const shown = [...(this.#shownMs.get(chosen.write) ?? [])].filter(([process]) => process.alive && process !== writer);
    const shownMs = shown.map(([, ms]) => ms);
    const sinceMs = Math.min(heldMs ?? atMs, ...shownMs);
    this.onAccepted?.({ election, before: last?.record, record: chosen.record, atMs: sinceMs, sentMs });
  }

  /**
   * A member that has forgotten is well again after two events. It has promised more than ever, and each election's record there
   * names its present store.
   */
  #noticeHealth(member: number): void {
    const { how } = this.#fault ?? {};
    if (this.#fault?.member !== member || !how || !isLoss(how)) return;
    const most = this.#promised[member];
    const promised = this.#noteAt(member, ELECTION).promised;
    if (most && (!promised || isBelow(promised, most))) return;
    if (this.#isTakenIn(member)) this.#mended();
  }

  /** True if each election's record at a member says that the quorum has this store. */
  #isTakenIn(member: number): boolean {
    const marker = this.#noteAt(member, MARKER).write;
    const name = this.#names[member] as string;
    return [...this.#elections].every((election) => marker && this.#noteAt(member, election).members[name] === marker);
  }

  #noteAt(member: number, election: string): Note {
    return noteOf(this.#services[member]?.record(election) as LeaseRecord);
  }

  #mended(): void {
    this.#fault = undefined;
    this.#mendedMs = this.#world.monotonicMs();
  }
}

function noteOf(record: LeaseRecord | undefined): Note {
  return JSON.parse(record?.quorum ?? '{"members":{}}') as Note;
}

/** True for a loss. Such a member is well only once it has been written anew. */
function isLoss(how: MemberFault): boolean {
  return how === "wiped" || how === "rolled back";
}

function isBelow(one: Ballot, other: Ballot): boolean {
  return one.round < other.round || (one.round === other.round && one.proposer < other.proposer);
}

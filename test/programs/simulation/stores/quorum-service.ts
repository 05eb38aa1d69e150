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
/** Past the longest call of anybody: what began while one member was away is over before another one fails. */
const BETWEEN_FAULTS_MS = 5_100;
/** Where a quorum keeps who its members are, beside the elections. */
const MARKER = "leasehold-quorum-marker";
const ROSTER = "leasehold-quorum-members";
/** The states that a member may be rolled back to. */
const BACKUPS = 40;

interface Ballot {
  readonly round: number;
  readonly proposer: string;
}

/** The part of a member's note that is looked at here. */
interface Note {
  readonly members: Readonly<Record<string, string>>;
  readonly promised: Ballot | null;
  readonly accepted: Ballot | null;
  readonly write: string | null;
  readonly base: string | null;
}

/** The record of an election that a majority has chosen. */
interface Chosen {
  readonly ballot: Ballot;
  readonly write: string;
  readonly record: LeaseRecord;
}

/** Three services that make one, or five. It knows what each of them has ever accepted, and so what was chosen. */
export class QuorumService implements RecordService, MemberFaults {
  /** How many members there are: three, or at times five. */
  readonly count: number;
  onAccepted: ((write: AcceptedWrite) => void) | undefined;
  onForked: ((what: string) => void) | undefined;
  readonly #world: VirtualClock;
  readonly #random: SeededRandom;
  readonly #services: readonly SimulatedRecordService[];
  readonly #names: readonly string[];
  readonly #majority: number;
  /**
   * Members may forget in this run. Then the others answer: a request that is lost is a second fault. In other runs every
   * request to a member has the weather of its process.
   */
  readonly #forgets: boolean;
  /** Whoever has accepted a ballot, at any time. */
  readonly #accepters = new Map<string, Set<number>>();
  readonly #sentMs = new Map<string, number>();
  /** When each write came to each member first. */
  readonly #stored = new Map<string, Map<number, number>>();
  readonly #chosen = new Map<string, Chosen>();
  readonly #past = new Set<string>();
  readonly #backups: RecordBackup[][] = NAMES.map(() => [undefined]);
  /** The highest promise that each member has ever made. */
  readonly #promised: Array<Ballot | undefined> = NAMES.map(() => undefined);
  #fault: { readonly member: number; readonly how: MemberFault } | undefined;
  #mendedMs = -Infinity;
  #spoilt: RecordBackup[] | undefined;
  #isCalm = false;
  /** The elections that there are. */
  readonly #elections = new Set<string>();

  constructor(world: VirtualClock, random: SeededRandom, options: SimulatedRecordServiceOptions) {
    this.#world = world;
    this.#random = random;
    this.#forgets = random.chance(0.5);
    this.#names = NAMES.slice(0, random.pick([3, 3, 3, 5]));
    this.count = this.#names.length;
    this.#majority = (this.count + 1) / 2;
    this.#services = this.#names.map((_, member) => {
      const service = new SimulatedRecordService(world, options);
      service.onAccepted = (write) => this.#accepted(member, write);
      return service;
    });
  }

  connect(process: ProcessClock, network: Network): RecordStore {
    const members = this.#names.map((name, member) => {
      const service = this.#services[member] as SimulatedRecordService;
      return [name, service.connect(process, (request) => this.#passage(member, network(request)))] as const;
    });
    return new QuorumLeaseStore({ members: Object.fromEntries(members), clock: process, logger: false }).records;
  }

  admits(election: string, { term, termId }: { readonly term: number; readonly termId: string }): boolean {
    const record = this.#chosen.get(election)?.record;
    return record?.term === term && record.termId === termId && !record.broken;
  }

  /** Spoils all members, and the next time puts back what was there: what is chosen is what it was. */
  overwrite(election: string, data: unknown): void {
    const before = this.#spoilt;
    this.#spoilt = before ? undefined : this.#services.map((service) => service.backUp(election));
    for (const [member, service] of this.#services.entries()) {
      if (before) service.restore(election, before[member]);
      else service.overwrite(election, data);
    }
  }

  fail(member: number, how: MemberFault): boolean {
    const isLoss = how === "wiped" || how === "rolled back";
    const isEarly = this.#world.monotonicMs() < this.#mendedMs + BETWEEN_FAULTS_MS;
    // A quorum begins with all of its members.
    const isFounded = this.#chosen.has(ROSTER);
    if (this.#fault || isEarly || this.#spoilt || !isFounded || (isLoss && !this.#forgets)) return false;
    if (how === "wiped") for (const election of [MARKER, ROSTER]) this.#services[member]?.remove(election);
    if (isLoss) {
      const backups = this.#backups[member] as RecordBackup[];
      const back = this.#random.pick([0, 1, 2, Math.floor(this.#random.next() * BACKUPS)]);
      this.#services[member]?.restore(ELECTION, how === "wiped" ? undefined : backups[Math.max(backups.length - 2 - back, 0)]);
    }
    this.#fault = { member, how };
    return true;
  }

  mend(member: number): void {
    const { how } = this.#fault ?? {};
    if (this.#fault?.member !== member || how === "wiped" || how === "rolled back") return;
    this.#mended();
  }

  calmDown(): void {
    this.#isCalm = true;
  }

  #passage(member: number, weather: Passage): Passage {
    if (this.#isCalm) return weather;
    const prompt = (): number => 0.1 + this.#random.next() * 15;
    const passage = this.#forgets ? { arrivals: [{ afterMs: prompt(), replyAfterMs: prompt() }] } : weather;
    if (this.#fault?.member !== member) return passage;
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

  #accepted(member: number, { election, record, atMs, sentMs }: AcceptedWrite): void {
    const { promised, accepted, write, base } = noteOf(record);
    // Those that go on being written: an occurrence, which is called like its election, is not.
    const isOccurrence = election !== ELECTION && election.startsWith(ELECTION);
    if (election !== MARKER && election !== ROSTER && !isOccurrence) this.#elections.add(election);
    if (election === ELECTION) {
      const backups = this.#backups[member] as RecordBackup[];
      backups.push(this.#services[member]?.backUp(election));
      if (backups.length > BACKUPS) backups.splice(1, 1);
      const most = this.#promised[member];
      if (promised && !(most && isBelow(promised, most))) this.#promised[member] = promised;
    }
    this.#noticeHealth(member);
    if (accepted === null || write === null) return;
    const ballot = `${election}/${accepted.round}/${accepted.proposer}/`;
    const accepters = this.#accepters.get(ballot) ?? new Set();
    this.#accepters.set(ballot, accepters.add(member));
    if (!this.#sentMs.has(write)) this.#sentMs.set(write, sentMs);
    const stored = this.#stored.get(write) ?? new Map<number, number>();
    if (!stored.has(member)) this.#stored.set(write, stored.set(member, atMs));
    if (accepters.size !== this.#majority || this.#past.has(ballot)) return;
    this.#past.add(ballot);
    const { schema: _, quorum: __, ...kept } = record;
    this.#choose(election, { ballot: accepted, write, record: { ...kept, schema: 1 } }, base, atMs);
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
    if (election === ROSTER) return;
    const sentMs = this.#sentMs.get(chosen.write) ?? atMs;
    // Since when a majority has it, under whichever ballots: that is what ages count from.
    const sinceMs = [...(this.#stored.get(chosen.write) ?? [])].map(([, ms]) => ms).toSorted((one, other) => one - other)[
      this.#majority - 1
    ];
    this.onAccepted?.({ election, before: last?.record, record: chosen.record, atMs: sinceMs ?? atMs, sentMs });
  }

  /** A member that has forgotten is well again once it has promised more than ever, and each election's record there says whose it is. */
  #noticeHealth(member: number): void {
    const { how } = this.#fault ?? {};
    if (this.#fault?.member !== member || (how !== "wiped" && how !== "rolled back")) return;
    const noteAt = (election: string): Note => noteOf(this.#services[member]?.record(election) as LeaseRecord);
    const most = this.#promised[member];
    const promised = noteAt(ELECTION).promised;
    if (most && (!promised || isBelow(promised, most))) return;
    const marker = noteAt(MARKER).write;
    const name = this.#names[member] as string;
    if ([...this.#elections].every((election) => marker && noteAt(election).members[name] === marker)) this.#mended();
  }

  #mended(): void {
    this.#fault = undefined;
    this.#mendedMs = this.#world.monotonicMs();
  }
}

function noteOf(record: LeaseRecord | undefined): Note {
  return JSON.parse(record?.quorum ?? '{"members":{}}') as Note;
}

function isBelow(one: Ballot, other: Ballot): boolean {
  return one.round < other.round || (one.round === other.round && one.proposer < other.proposer);
}

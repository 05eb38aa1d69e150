import {
  IMPOSSIBLE_VERSION,
  Journal,
  type LeaseRecord,
  type PutOutcome,
  type RecordStore,
  type StoredRecord,
} from "@leasehold/core/provider";
import {
  ProcessClock,
  promptNetwork,
  SimulatedRecordService,
  VirtualClock,
  type Network,
  type Passage,
  type SimulatedRecordServiceOptions,
} from "@leasehold/core/testing";
import { ConnectingRecords } from "@leasehold/test-kit/simulated/connecting-records";
import { QuorumRecordStore } from "../src/quorum-record-store.ts";
import { MARKER, ROSTER } from "../src/roster.ts";

export const ELECTION = "nightly-billing";
export const OTHER_ELECTION = "another";
export const LEASE_MS = 15_000;
export const NAMES = ["a", "b", "c"] as const;
export type Name = (typeof NAMES)[number];

/** Returns a record whose nonce names the write. */
export function recordOf(nonce: string, term = 1): LeaseRecord {
  return { schema: 3, term, termId: "t", candidateId: "x", nonce, leaseDurationMs: LEASE_MS, renewIntervalMs: 5_000 };
}

/** A request of one process to one member. */
export interface Sent {
  readonly by: string;
  readonly to: string;
  readonly operation: string;
}

const SILENCE: Passage = { arrivals: [] };

/** Three members in virtual time, and processes that use them. Every request is recorded, and a test may interfere with it. */
export class World {
  readonly clock: VirtualClock = new VirtualClock();
  readonly services: Readonly<Record<Name, SimulatedRecordService>>;
  readonly sent: Sent[] = [];
  /** The warnings of all processes about members. */
  readonly warnings: string[] = [];
  /** Decides what happens to a request; `undefined`: it is carried at once. */
  passage: (request: Sent) => Passage | undefined = () => undefined;
  readonly down: Set<string> = new Set();
  /** The round trip to a member in milliseconds, if a process has to connect to it first. */
  readonly roundTripMs: Map<string, number> = new Map();
  /** The connections of all processes to such members. */
  readonly connections: ConnectingRecords[] = [];

  /** @param options of each member's service. */
  constructor(options: SimulatedRecordServiceOptions = {}) {
    const service = (): SimulatedRecordService => new SimulatedRecordService(this.clock, options);
    this.services = { a: service(), b: service(), c: service() };
  }

  /** Returns a world in which a process has already used the quorum for another election. */
  static async founded(options?: SimulatedRecordServiceOptions): Promise<World> {
    const world = new World(options);
    await world.open("founder").put("any", undefined, OTHER_ELECTION);
    world.requests();
    return world;
  }

  /** Starts one more process. @param other the stores that it has been given in place of some, or in addition. */
  open(by: string, other: Readonly<Record<string, SimulatedRecordService>> = {}, names: readonly string[] = NAMES): Client {
    const process = new ProcessClock(this.clock);
    const networkTo =
      (to: string): Network =>
      ({ operation }) => {
        const request = { by, to, operation };
        this.sent.push(request);
        const latencyMs = (this.roundTripMs.get(to) ?? 2) / 2;
        return this.passage(request) ?? (this.down.has(to) ? SILENCE : promptNetwork(latencyMs)({ operation }));
      };
    const services: Readonly<Record<string, SimulatedRecordService>> = { ...this.services, ...other };
    const connect = (name: string): RecordStore => {
      const records = (services[name] as SimulatedRecordService).connect(process, networkTo(name));
      const roundTripMs = this.roundTripMs.get(name);
      if (roundTripMs === undefined) return records;
      const connecting = new ConnectingRecords(records, process, roundTripMs);
      this.connections.push(connecting);
      return connecting;
    };
    const members = Object.fromEntries(names.map((name) => [name, connect(name)]));
    const warn = (message: string): void => void this.warnings.push(message);
    const journal = Journal.to({ debug() {}, info() {}, warn, error() {} });
    return new Client(this, new QuorumRecordStore(members, process, journal), process);
  }

  /** Returns the record of the election at a member, to be restored later. */
  backup(name: Name): unknown {
    return this.services[name].record(ELECTION);
  }

  restore(name: Name, backup: unknown): void {
    if (backup === undefined) this.services[name].remove(ELECTION);
    else this.services[name].overwrite(ELECTION, backup);
  }

  /** Empties a whole store, including its marker. */
  empty(name: Name): void {
    for (const election of [ELECTION, OTHER_ELECTION, MARKER, ROSTER]) this.services[name].remove(election);
  }

  /** Returns the requests since the last call, as text. */
  requests(): string[] {
    return this.sent.splice(0).map(({ by, to, operation }) => `${by} ${operation} ${to}`);
  }
}

/** Reads and writes the record as one process, each call within a second. */
export class Client {
  readonly store: QuorumRecordStore;
  readonly clock: ProcessClock;
  /** The term in the records that it writes. */
  term = 1;
  readonly #world: World;

  constructor(world: World, store: QuorumRecordStore, clock: ProcessClock) {
    this.clock = clock;
    this.#world = world;
    this.store = store;
  }

  async get(consistent = true, election: string = ELECTION): Promise<StoredRecord | undefined> {
    return await this.#world.clock.runUntil(this.startGet(consistent, election));
  }

  startGet(consistent = true, election: string = ELECTION): Promise<StoredRecord | undefined> {
    return this.store.get(election, { consistent, signal: new AbortController().signal, timeoutMs: 1_000 });
  }

  /** Reads, and sends a write that must fail, as the engine's check does. */
  async check(): Promise<PutOutcome> {
    await this.get().catch(() => undefined);
    const { signal } = new AbortController();
    const limits = { ifVersion: IMPOSSIBLE_VERSION, keepsNonce: false, signal, timeoutMs: 1_000 };
    return await this.#world.clock.runUntil(this.store.put(ELECTION, recordOf("probe"), limits));
  }

  async put(nonce: string, ifVersion?: string, election: string = ELECTION): Promise<PutOutcome> {
    return await this.#world.clock.runUntil(this.startPut(nonce, ifVersion, 1_000, election));
  }

  startPut(nonce: string, ifVersion?: string, timeoutMs = 1_000, election: string = ELECTION): Promise<PutOutcome> {
    const signal = new AbortController().signal;
    return this.store.put(election, recordOf(nonce, this.term), { ifVersion, keepsNonce: false, signal, timeoutMs });
  }
}

/** Returns a founded world with two processes, of which `one` has written "first". */
export async function begun(
  name = "other",
): Promise<{ readonly world: World; readonly one: Client; readonly other: Client; readonly first: string }> {
  const world = await World.founded();
  const [one, other] = [world.open("one"), world.open(name)];
  return { world, one, other, first: versionOf(await one.put("first")) };
}

/** Writes so often that a member that was away is taken in again. */
export async function write(world: World, by: Client, election: string, times: number): Promise<void> {
  let version = (await by.get(true, election))?.version;
  for (let count = 0; count < times; count += 1) {
    version = versionOf(await by.put(`write ${count}`, version, election));
    await world.clock.advance(2_000);
  }
}

/** Returns the version of a write that was stored. */
export function versionOf(outcome: PutOutcome): string {
  if (outcome.stored) return outcome.version;
  throw new Error("The write was not stored.");
}

export function nonceOf(stored: StoredRecord | undefined): string | undefined {
  return (stored?.data as LeaseRecord | undefined)?.nonce;
}

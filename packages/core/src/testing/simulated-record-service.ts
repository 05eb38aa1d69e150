import type {
  Fence,
  GetOptions,
  LeaseRecord,
  PutOptions,
  PutOutcome,
  RecordStore,
  RecordStoreCapabilities,
  StoredRecord,
} from "../records/record-store.ts";
import type { ProcessClock } from "./process-clock.ts";
import { carry, promptNetwork, type Network, type Passage } from "./simulated-network.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** The abilities of a simulated service. */
export interface SimulatedRecordServiceOptions {
  /** The service's own clock, and how far it may be trusted; without one it returns no ages. */
  readonly storeClock?: RecordStoreCapabilities["storeClock"];
  /** Milliseconds that pass on that clock in one true millisecond. @defaultValue 1 */
  readonly clockRate?: number | undefined;
  /** It wakes those who watch at each acquisition, release and break; without it there is no watching. */
  readonly pushes?: boolean | undefined;
  /** Reads may show writes that a failover undoes: see {@link SimulatedRecordService.cutOff}. */
  readonly showsUndurable?: RecordStoreCapabilities["showsUndurable"];
}

/** A write that the service has accepted. */
export interface AcceptedWrite {
  readonly election: string;
  readonly before: LeaseRecord | undefined;
  readonly record: LeaseRecord;
  /** The instant at which it was accepted, by the true time. */
  readonly atMs: number;
  /** When a process sent it, by the true time; `atMs` where no process did. */
  readonly sentMs: number;
}

/** When a process sent a write. */
interface Sent {
  /** By the true time. */
  readonly atMs: number;
  /** By its own wall clock. */
  readonly wallMs: number;
}

/** A record as it was stored once, with its version, to be restored; `undefined` where there was none. */
export type RecordBackup = Entry | undefined;

/** The stored record of one election. */
interface Entry {
  /** As most services would keep it: nothing that JSON cannot hold survives, and nobody can change it. */
  readonly data: unknown;
  readonly version: string;
  readonly nonceWritten: NonceWritten;
}

/** What a failover leaves. */
interface Durable {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly fences: ReadonlyMap<string, Fence>;
}

/** The instant at which a nonce was written. */
interface NonceWritten {
  /** By the clock of the server that wrote it. */
  readonly atMs: number;
  readonly server: number;
  /** By the wall clock of the process that asked for it. */
  readonly wallMs: number | undefined;
}

interface Watcher {
  readonly push: () => void;
}

/**
 * A service that compares and swaps one record per election, in virtual time, for any number of processes: each reaches
 * it by a {@link connect | connection} of its own, over a network that can do anything to what it carries. Wrap a
 * connection in a `RecordLeaseStore` to get what an `Elector` takes.
 */
export class SimulatedRecordService {
  readonly #world: VirtualClock;
  readonly #options: SimulatedRecordServiceOptions;
  readonly #entries = new Map<string, Entry>();
  /** The records before the last write: a replica that lags still shows them. */
  readonly #past = new Map<string, Entry>();
  readonly #fences = new Map<string, Fence>();
  readonly #watchers = new Map<string, Set<Watcher>>();
  #writes = 0;
  #clockOffsetMs = 0;
  #server = 1;
  /** What the replica has, while it is cut off. */
  #durable: Durable | undefined;
  /** Called after each write of a candidate or an administrator that was accepted. */
  onAccepted: ((write: AcceptedWrite) => void) | undefined;

  constructor(world: VirtualClock, options: SimulatedRecordServiceOptions = {}) {
    this.#world = world;
    this.#options = options;
  }

  /** The service as one process reaches it. */
  connect(process: ProcessClock, network: Network = promptNetwork()): RecordStore {
    return new SimulatedConnection(this, this.#world, process, network, this.#options);
  }

  /** The election's record as it lies in the store, unchecked. */
  record(election: string): unknown {
    return this.get(election)?.data;
  }

  /** The service's own time. It starts with the true time's monotonic clock, and may run at another rate, or step. */
  nowMs(): number {
    return this.#world.monotonicMs() * (this.#options.clockRate ?? 1) + this.#clockOffsetMs;
  }

  /** Sets the service's own clock forward, or back. */
  stepClock(ms: number): void {
    this.#clockOffsetMs += ms;
  }

  /** Another server takes over, whose clock is ahead of the former one's by so much. It knows no age of what that one wrote. */
  failOver(aheadMs: number): void {
    this.#server += 1;
    if (this.#durable) {
      replace(this.#entries, this.#durable.entries);
      replace(this.#fences, this.#durable.fences);
      this.#past.clear();
    }
    this.#durable = undefined;
    this.stepClock(aheadMs);
  }

  /**
   * The replica that takes over at a failover is cut off: writes are carried out and shown from now on, none of them is
   * acknowledged, and a failover undoes them. Until {@link rejoin}.
   */
  cutOff(): void {
    this.#durable ??= { entries: new Map(this.#entries), fences: new Map(this.#fences) };
  }

  /** The replica has caught up: what is shown is durable again. */
  rejoin(): void {
    this.#durable = undefined;
  }

  /** Reports whether a write that is carried out now is acknowledged. */
  get acknowledges(): boolean {
    return this.#durable === undefined;
  }

  /** @param past what a replica shows that has not seen the last write. */
  get(election: string, past = false): StoredRecord | undefined {
    const entry = (past ? this.#past : this.#entries).get(election);
    if (!entry) return undefined;
    const { atMs, server, wallMs } = entry.nonceWritten;
    const ageMs = this.nowMs() - atMs;
    const { storeClock } = this.#options;
    return {
      data: entry.data,
      version: entry.version,
      ...(storeClock && server === this.#server ? { nonceAgeMs: [ageMs, ageMs] } : {}),
      ...(storeClock?.mayStep ? { nonceWallMs: wallMs } : {}),
    };
  }

  /** @param sent when a process sent it, if one did. */
  put(election: string, record: LeaseRecord, options: Omit<PutOptions, "signal">, sent?: Sent): PutOutcome {
    const { ifVersion, keepsNonce, fence } = options;
    const present = this.#entries.get(election);
    if (present?.version !== ifVersion) return { stored: false };
    const before = present?.data as LeaseRecord | undefined;
    const version = this.#store(election, record, keepsNonce && present ? present.nonceWritten : this.#now(sent?.wallMs));
    if (fence) this.#fences.set(election, fence);
    const atMs = this.#world.monotonicMs();
    this.onAccepted?.({ election, before, record, atMs, sentMs: sent?.atMs ?? atMs });
    if (fence) for (const { push } of this.#watchers.get(election) ?? []) push();
    return { stored: true, version };
  }

  /** Reports whether a write that depends on a leadership passes at present: the store's own fence, changed with the record. */
  admits(election: string, { term, termId }: { readonly term: number; readonly termId: string }): boolean {
    const fence = this.#fences.get(election);
    return fence !== undefined && fence.term === term && fence.termId === termId;
  }

  /**
   * Writes anything at all, unconditionally: what a stranger or an administrator with other tools might do. Returns the
   * version.
   */
  overwrite(election: string, data: unknown): string {
    return this.#store(election, data, this.#now());
  }

  /** Returns the record with its version, as a backup of the service would have it. */
  backUp(election: string): RecordBackup {
    return this.#entries.get(election);
  }

  /** Puts a backup back, in place of whatever was written since: those writes were acknowledged, and are lost. */
  restore(election: string, backup: RecordBackup): void {
    if (backup) this.#entries.set(election, backup);
    else this.#entries.delete(election);
  }

  /** Deletes the record, which Leasehold itself never does. */
  remove(election: string): void {
    this.#entries.delete(election);
  }

  /** Yields a wake-up at once and whenever the record's fence changes, for as long as the signal has not aborted. */
  async *watch(
    election: string,
    { process, network, signal }: { readonly process: ProcessClock; readonly network: Network; readonly signal: AbortSignal },
  ): AsyncGenerator<void> {
    let isPushed = false;
    let wake = Promise.withResolvers<void>();
    const push = (begins = false): void => {
      const arrive = (): void => {
        isPushed = true;
        wake.resolve();
      };
      for (const { replyAfterMs } of network({ operation: "watch", begins }).arrivals) {
        if (replyAfterMs !== undefined) this.#world.setTimer(() => process.deliver(arrive), replyAfterMs);
      }
    };
    const watcher: Watcher = { push };
    const watchers = this.#watchers.get(election) ?? new Set<Watcher>();
    this.#watchers.set(election, watchers.add(watcher));
    const onAbort = (): void => wake.resolve();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      push(true);
      while (!signal.aborted) {
        await wake.promise;
        wake = Promise.withResolvers();
        if (!isPushed || signal.aborted) continue;
        isPushed = false;
        yield;
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
      watchers.delete(watcher);
    }
  }

  #now(wallMs?: number): NonceWritten {
    return { atMs: this.nowMs(), server: this.#server, wallMs };
  }

  #store(election: string, data: unknown, nonceWritten: NonceWritten): string {
    this.#writes += 1;
    const version = `v${this.#writes}`;
    const present = this.#entries.get(election);
    if (present) this.#past.set(election, present);
    this.#entries.set(election, { data: frozen(JSON.parse(JSON.stringify(data))), version, nonceWritten });
    return version;
  }
}

/** The service as one process reaches it. */
class SimulatedConnection implements RecordStore {
  readonly name: string = "simulated";
  readonly capabilities: RecordStoreCapabilities;
  readonly watch?: NonNullable<RecordStore["watch"]>;
  readonly #service: SimulatedRecordService;
  readonly #world: VirtualClock;
  readonly #process: ProcessClock;
  readonly #network: Network;

  constructor(
    service: SimulatedRecordService,
    world: VirtualClock,
    process: ProcessClock,
    network: Network,
    { storeClock, pushes, showsUndurable }: SimulatedRecordServiceOptions,
  ) {
    this.#service = service;
    this.#world = world;
    this.#process = process;
    this.#network = network;
    this.capabilities = { maxValueBytes: 1_024, fence: "atomic", storeClock, showsUndurable };
    if (pushes) this.watch = (election, { signal }) => service.watch(election, { process, network, signal });
  }

  get(election: string, { consistent }: GetOptions): Promise<StoredRecord | undefined> {
    return this.#carry("get", ({ lags }) => this.#service.get(election, lags && !consistent));
  }

  put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const sent = { atMs: this.#world.monotonicMs(), wallMs: this.#process.wallMs() };
    return this.#carry("put", () => this.#answer(this.#service.put(election, record, options, sent)));
  }

  /** A write that changed nothing waits for no replica. */
  #answer<T extends { readonly stored: boolean }>(outcome: T): T | Promise<never> {
    return outcome.stored && !this.#service.acknowledges ? new Promise(() => undefined) : outcome;
  }

  #carry<T>(operation: string, serve: (passage: Passage) => T | Promise<T>): Promise<T> {
    const passage = this.#network({ operation });
    return carry(this.#world, this.#process, passage, () => serve(passage));
  }
}

function replace<Value>(all: Map<string, Value>, by: ReadonlyMap<string, Value>): void {
  all.clear();
  for (const [key, value] of by) all.set(key, value);
}

function frozen(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

import type {
  Fence,
  LeaseRecord,
  PutOptions,
  PutOutcome,
  RecordStore,
  RecordStoreCapabilities,
  StoredRecord,
} from "../records/record-store.ts";
import { wakeUps, type JoinedWatch, type WatchCallbacks } from "../store/wake-ups.ts";
import type { ProcessClock } from "./process-clock.ts";
import { carry, promptNetwork, type Network, type Passage } from "./simulated-network.ts";
import type { VirtualClock } from "./virtual-clock.ts";

export interface SimulatedRecordServiceOptions {
  /** The service's own clock, and how far it is trusted. Without one the service returns no ages. */
  readonly storeClock?: RecordStoreCapabilities["storeClock"];
  /** The milliseconds that pass on that clock in one true millisecond. @defaultValue 1 */
  readonly clockRate?: number | undefined;
  /** True if it wakes watchers at each acquisition, release and break. Otherwise it has no `watch`. */
  readonly pushes?: boolean | undefined;
  /** True if reads may show writes that a failover undoes: see {@link SimulatedRecordService.cutOff}. */
  readonly showsUndurable?: RecordStoreCapabilities["showsUndurable"];
}

export interface AcceptedWrite {
  readonly election: string;
  readonly before: LeaseRecord | undefined;
  readonly record: LeaseRecord;
  /** The instant at which it was accepted, in true time. */
  readonly atMs: number;
  /** The instant at which a process sent it, in true time; `atMs` if no process did. */
  readonly sentMs: number;
}

/** The instant at which a process sent a write, in true time and by its own wall clock. */
type Sent = { readonly atMs: number; readonly wallMs: number };

/** A stored record with its version, to be restored later; `undefined` if there was none. */
export type RecordBackup = Entry | undefined;

interface Entry {
  /** Kept as most services would: only what JSON can hold. It is frozen, so that no reader can change it. */
  readonly data: unknown;
  readonly version: string;
  readonly nonceWritten: NonceWritten;
}

interface NonceWritten {
  /** By the clock of the server that wrote it. */
  readonly atMs: number;
  readonly server: number;
  /** By the wall clock of the process that sent the write. */
  readonly wallMs: number | undefined;
}

/**
 * Compares and swaps one record per election, in virtual time. Each process has its own {@link connect | connection}, whose network
 * can lose, delay or repeat requests. Wrap a connection in a `RecordLeaseStore`.
 */
export class SimulatedRecordService {
  readonly #world: VirtualClock;
  readonly #options: SimulatedRecordServiceOptions;
  readonly #entries = new Map<string, Entry>();
  /** The records before the last write. A lagging replica still shows them. */
  readonly #past = new Map<string, Entry>();
  readonly #fences = new Map<string, Fence>();
  readonly #watchers = new Map<string, Set<() => void>>();
  #writes = 0;
  #clockOffsetMs = 0;
  #server = 1;
  /** The state of the replica while it is cut off. */
  #durable: { readonly entries: ReadonlyMap<string, Entry>; readonly fences: ReadonlyMap<string, Fence> } | undefined;
  /** Called after each accepted write of a candidate or an administrator. */
  onAccepted: ((write: AcceptedWrite) => void) | undefined;

  constructor(world: VirtualClock, options: SimulatedRecordServiceOptions = {}) {
    this.#world = world;
    this.#options = options;
  }

  /** Returns the service as one process reaches it. */
  connect(process: ProcessClock, network: Network = promptNetwork()): RecordStore {
    const { storeClock, pushes, showsUndurable } = this.#options;
    const send = <T>(operation: string, serve: (passage: Passage) => T | Promise<T>): Promise<T> => {
      const passage = network({ operation });
      return carry(this.#world, process, passage, () => serve(passage));
    };
    return {
      name: "simulated",
      capabilities: { maxValueBytes: 1_024, fence: "atomic", storeClock, showsUndurable },
      get: (election, { consistent }) => send("get", ({ lags }) => this.get(election, lags && !consistent)),
      put: (election, record, options) => {
        const sent = { atMs: this.#world.monotonicMs(), wallMs: process.wallMs() };
        return send("put", () => {
          const outcome = this.put(election, record, options, sent);
          // A stored write waits for the replica while it is cut off, and is never answered.
          return outcome.stored && !this.acknowledges ? new Promise<never>(() => undefined) : outcome;
        });
      },
      ...(pushes ? { watch: (election, { signal }) => this.#watch(election, process, network, signal) } : {}),
    };
  }

  /** Returns the election's record as it is stored, unchecked. */
  record(election: string): unknown {
    return this.get(election)?.data;
  }

  /** Returns the service's own time, which may run at another rate than the true time, or step. */
  nowMs(): number {
    return this.#world.monotonicMs() * (this.#options.clockRate ?? 1) + this.#clockOffsetMs;
  }

  stepClock(ms: number): void {
    this.#clockOffsetMs += ms;
  }

  /** Makes another server take over, its clock ahead by `aheadMs`. It knows no age of the former server's writes. */
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

  /** Cuts off the replica of a failover, until {@link rejoin}: writes are carried out and shown, but not acknowledged. */
  cutOff(): void {
    this.#durable ??= { entries: new Map(this.#entries), fences: new Map(this.#fences) };
  }

  /** Called when the replica has caught up: all shown writes are durable again. */
  rejoin(): void {
    this.#durable = undefined;
  }

  /** Reports whether a write that is carried out now is acknowledged. */
  get acknowledges(): boolean {
    return this.#durable === undefined;
  }

  /** @param past true for the state that a replica shows without the last write. */
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

  put(election: string, record: LeaseRecord, options: Omit<PutOptions, "signal">, sent?: Sent): PutOutcome {
    const { ifVersion, keepsNonce, fence } = options;
    const present = this.#entries.get(election);
    if (present?.version !== ifVersion) return { stored: false };
    const before = present?.data as LeaseRecord | undefined;
    const version = this.#store(election, record, keepsNonce && present ? present.nonceWritten : this.#now(sent?.wallMs));
    if (fence) this.#fences.set(election, fence);
    const atMs = this.#world.monotonicMs();
    this.onAccepted?.({ election, before, record, atMs, sentMs: sent?.atMs ?? atMs });
    if (fence) for (const push of this.#watchers.get(election) ?? []) push();
    return { stored: true, version };
  }

  /** Reports whether a write that depends on a leadership passes now, by the store's own fence. */
  admits(election: string, { term, termId }: { readonly term: number; readonly termId: string }): boolean {
    const fence = this.#fences.get(election);
    return fence !== undefined && fence.term === term && fence.termId === termId;
  }

  /** Writes any data unconditionally, as a foreign program or an administrator with other tools might. Returns the version. */
  overwrite(election: string, data: unknown): string {
    return this.#store(election, data, this.#now());
  }

  /** Returns the record with its version, as a backup of the service would contain it. */
  backUp(election: string): RecordBackup {
    return this.#entries.get(election);
  }

  /** Restores a backup in place of all later writes. Those writes were acknowledged, and are lost. */
  restore(election: string, backup: RecordBackup): void {
    if (backup) this.#entries.set(election, backup);
    else this.#entries.delete(election);
  }

  /** Deletes the record. Leasehold itself never does so. */
  remove(election: string): void {
    this.#entries.delete(election);
  }

  /** Yields a wake-up at once, and whenever the record's fence changes, until the signal aborts. */
  #watch(election: string, process: ProcessClock, network: Network, signal: AbortSignal): AsyncGenerator<void> {
    const join = ({ changed }: WatchCallbacks): JoinedWatch => {
      const { promise: listening, resolve } = Promise.withResolvers<void>();
      let wake: () => void = resolve;
      const arrive = (): void => {
        wake();
        wake = changed;
      };
      const push = (begins = false): void => {
        for (const { replyAfterMs } of network({ operation: "watch", begins }).arrivals) {
          if (replyAfterMs !== undefined) this.#world.setTimer(() => process.deliver(arrive), replyAfterMs);
        }
      };
      const watchers = this.#watchers.get(election) ?? new Set<() => void>();
      this.#watchers.set(election, watchers.add(push));
      push(true);
      return { listening, leave: () => void watchers.delete(push) };
    };
    return wakeUps(join, signal);
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

function replace<Value>(all: Map<string, Value>, by: ReadonlyMap<string, Value>): void {
  all.clear();
  for (const [key, value] of by) all.set(key, value);
}

function frozen(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

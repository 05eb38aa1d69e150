import type { GuardedText, TestEnvironment, UnreliableConnection } from "@leasehold/conformance";
import {
  type Clock,
  type OccurrenceStore,
  RecordLeaseStore,
  RecordOccurrenceStore,
  type LeaseRecord,
  type PutOptions,
  type PutOutcome,
  type GetOptions,
  type ListedRecord,
  type ListRecordsOptions,
  type RecordStore,
  type RecordStoreCapabilities,
  type StoredRecord,
} from "@leasehold/core/provider";
import type { Leadership, LeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { MessageFaults } from "@leasehold/test-kit/conformance/message-faults";

/** The differences of a record service from a correct one, and its capabilities beyond storage. */
export interface RecordServiceOptions {
  readonly storeClock?: RecordStoreCapabilities["storeClock"];
  readonly pushes?: boolean | "every-write";
  readonly showsUndurable?: boolean;
  /** Decides which writes are carried out although their condition does not hold. */
  readonly ignoresVersion?: ((record: LeaseRecord, present: LeaseRecord, ifVersion: string | undefined) => boolean) | undefined;
  readonly listsOccurrences?: boolean;
  /** Changes the record store of a process. */
  readonly records?: ((records: RecordStore, clock: Clock) => RecordStore) | undefined;
  /** Changes the store of a process. */
  readonly store?: ((store: LeaseStore, records: RecordStore, clock: Clock) => LeaseStore) | undefined;
  /** Decides whether the service carries out a guarded write. @defaultValue if term and termId are the record's */
  readonly fence?: ((leadership: Leadership, record: LeaseRecord | undefined) => boolean) | undefined;
}

const MAX_VALUE_BYTES = 1_024;
/** Stands between an election and its occurrence. No name has it. */
const BELOW = "\0";

/** A place with a record service in this process, on a virtual clock, and with a network that can fail. */
export class RecordPlace implements TestEnvironment {
  readonly clock: VirtualClock = new VirtualClock();
  readonly #service: RecordService;
  readonly #network: Network;
  readonly #options: RecordServiceOptions;

  constructor(options: RecordServiceOptions = {}) {
    this.#options = options;
    this.#service = new RecordService(this.clock, options);
    this.#network = new Network(this.#service);
  }

  connect(): Promise<LeaseStore> {
    return this.connectWith(this.clock);
  }

  connectWith(clock: Clock): Promise<LeaseStore> {
    return Promise.resolve(this.#storeOver(this.#service, clock));
  }

  connectUnreliably(): Promise<UnreliableConnection> {
    return Promise.resolve({ store: this.#storeOver(this.#network, this.clock), faults: this.#network.faults });
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  guard(): Promise<GuardedText> {
    const { fence = isOf } = this.#options;
    let present = "";
    return Promise.resolve({
      read: () => Promise.resolve(present),
      write: async (leadership, text) => {
        const stored = await this.#service.get(leadership.election);
        const passes = fence(leadership, stored?.data as LeaseRecord | undefined);
        if (passes) present = text;
        return passes;
      },
    });
  }

  writeRaw(election: string, what: "foreign" | "newer-schema"): Promise<void> {
    this.#service.overwrite(election, what === "foreign" ? { mine: "do not touch" } : { schema: 2, term: 7 });
    return Promise.resolve();
  }

  readRaw(election: string): Promise<unknown> {
    return this.#service.get(election);
  }

  remove(election: string): Promise<void> {
    this.#service.remove(election);
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  #storeOver(service: RecordStore, clock: Clock): LeaseStore {
    const { records = (one) => one, store = (one) => one } = this.#options;
    const seen = records(service, clock);
    const leases = new RecordLeaseStore(seen, { clock });
    const occurrences = (election: string): OccurrenceStore => {
      const below = records(placedBelow(service, election), clock);
      const sound = new RecordOccurrenceStore(below, { clock });
      const complete = sound.complete.bind(sound);
      return Object.assign(store(sound, below, clock), { complete });
    };
    return Object.assign(store(leases, seen, clock), { occurrences });
  }
}

/** Returns the same service, for the occurrences of one election. */
function placedBelow(service: RecordStore, election: string): RecordStore {
  const place = (id: string): string => `${election}${BELOW}${id}`;
  return {
    name: service.name,
    capabilities: service.capabilities,
    get: (id, options) => service.get(place(id), options),
    put: (id, record, options) => service.put(place(id), record, options),
  };
}

function isOf({ term, termId }: Leadership, record: LeaseRecord | undefined): boolean {
  return record?.term === term && record.termId === termId && !record.broken;
}

interface Entry {
  readonly json: string;
  readonly version: string;
  readonly nonceWrittenMs: number;
}

class RecordService implements RecordStore {
  readonly name: string = "records";
  readonly capabilities: RecordStoreCapabilities;
  readonly watch?: NonNullable<RecordStore["watch"]>;
  readonly #clock: VirtualClock;
  readonly #entries = new Map<string, Entry>();
  readonly #changes = new EventTarget();
  readonly #ignoresVersion: RecordServiceOptions["ignoresVersion"];
  readonly #pushesAll: boolean;
  readonly #listsOccurrences: boolean;
  #writes = 0;

  constructor(clock: VirtualClock, options: RecordServiceOptions) {
    const { storeClock, pushes, showsUndurable, ignoresVersion } = options;
    this.#clock = clock;
    this.#ignoresVersion = ignoresVersion;
    this.capabilities = { maxValueBytes: MAX_VALUE_BYTES, fence: "atomic", storeClock, showsUndurable };
    this.#pushesAll = pushes === "every-write";
    this.#listsOccurrences = options.listsOccurrences === true;
    if (pushes) this.watch = (election, { signal }) => this.#watch(election, signal);
  }

  get(election: string): Promise<StoredRecord | undefined> {
    return Promise.resolve(this.#stored(election));
  }

  async *list(prefix: string, { pageSize, request }: ListRecordsOptions): AsyncGenerator<ListedRecord> {
    for (let from = 0; ; from += pageSize) {
      const names = await request(() => Promise.resolve(this.#names(prefix).slice(from, from + pageSize)));
      for (const election of names) {
        const stored = this.#stored(election);
        if (stored) yield { election, stored };
      }
      if (names.length < pageSize) return;
    }
  }

  #names(prefix: string): readonly string[] {
    const names = [...this.#entries.keys()].filter((name) => name.startsWith(prefix));
    return this.#listsOccurrences ? names : names.filter((name) => !name.includes(BELOW));
  }

  put(election: string, record: LeaseRecord, { ifVersion, fence }: PutOptions): Promise<PutOutcome> {
    const present = this.#entries.get(election);
    if (present?.version !== ifVersion) {
      const ignored = present && this.#ignoresVersion?.(record, JSON.parse(present.json) as LeaseRecord, ifVersion);
      if (!ignored) return Promise.resolve({ stored: false });
    }
    const version = this.overwrite(election, record);
    if (fence || this.#pushesAll) this.#changes.dispatchEvent(new Event(election));
    return Promise.resolve({ stored: true, version });
  }

  overwrite(election: string, data: object): string {
    this.#writes += 1;
    const version = `v${this.#writes}`;
    const present = this.#entries.get(election);
    const sameNonce = present !== undefined && nonceOf(JSON.parse(present.json)) === nonceOf(data);
    const nonceWrittenMs = sameNonce ? present.nonceWrittenMs : this.#clock.monotonicMs();
    this.#entries.set(election, { json: JSON.stringify(data), version, nonceWrittenMs });
    return version;
  }

  remove(election: string): void {
    this.#entries.delete(election);
  }

  async *#watch(election: string, signal: AbortSignal): AsyncGenerator<void> {
    let changed = Promise.withResolvers<void>();
    const wake = (): void => changed.resolve();
    this.#changes.addEventListener(election, wake);
    signal.addEventListener("abort", wake);
    try {
      while (!signal.aborted) {
        yield;
        await changed.promise;
        changed = Promise.withResolvers();
      }
    } finally {
      this.#changes.removeEventListener(election, wake);
      signal.removeEventListener("abort", wake);
    }
  }

  #stored(election: string): StoredRecord | undefined {
    const entry = this.#entries.get(election);
    if (!entry) return undefined;
    const ageMs = this.#clock.monotonicMs() - entry.nonceWrittenMs;
    const nonceAgeMs = this.capabilities.storeClock ? ([ageMs, ageMs] as const) : undefined;
    return { data: JSON.parse(entry.json) as unknown, version: entry.version, nonceAgeMs };
  }
}

function nonceOf(data: unknown): unknown {
  return (data as Partial<LeaseRecord>).nonce;
}

/** The network between one process and the service. */
class Network implements RecordStore {
  readonly faults = new MessageFaults();
  readonly name: string;
  readonly capabilities: RecordStoreCapabilities;
  readonly watch?: NonNullable<RecordStore["watch"]>;
  readonly #service: RecordStore;

  constructor(service: RecordStore) {
    this.#service = service;
    this.name = service.name;
    this.capabilities = service.capabilities;
    if (service.watch) this.watch = (election, options) => service.watch?.(election, options) ?? nothing();
  }

  get(election: string, options: GetOptions): Promise<StoredRecord | undefined> {
    return this.faults.carry(() => this.#service.get(election, options));
  }

  list(prefix: string, { pageSize, request }: ListRecordsOptions): AsyncIterable<ListedRecord> {
    const sending: ListRecordsOptions["request"] = async (send) =>
      await request((options) => this.faults.carry(() => send(options)));
    return this.#service.list?.(prefix, { pageSize, request: sending }) ?? nothing();
  }

  put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    return this.faults.carry(() => this.#service.put(election, record, options));
  }
}

async function* nothing(): AsyncGenerator<never> {}

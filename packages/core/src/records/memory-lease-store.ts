import { systemClock, type Clock } from "../time/clock.ts";
import type { StoreWarnings } from "../reporting/journal.ts";
import { LocalStoreWarnings } from "../store/local-store.ts";
import type { WatchOptions } from "../store/lease-store.ts";
import { checkName } from "../store/names.ts";
import { wakeUps, type JoinedWatch, type WatchCallbacks } from "../store/wake-ups.ts";
import { RecordLeaseStore, RecordOccurrenceStore, type RecordLeaseStoreOptions } from "./record-lease-store.ts";
import type {
  LeaseRecord,
  ListedRecord,
  ListRecordsOptions,
  PutOptions,
  PutOutcome,
  RecordStore,
  RecordStoreCapabilities,
  StoredRecord,
} from "./record-store.ts";

/** A lease store in this process, for electors that share it. Nothing outlives the process or is visible outside it. */
export class MemoryLeaseStore extends RecordLeaseStore {
  readonly #occurrences = new Map<string, MemoryRecordStore>();

  constructor(options: RecordLeaseStoreOptions = {}) {
    super(new MemoryRecordStore(options.clock), options);
  }

  /** Returns the occurrences of a schedule. They are kept for as long as this store exists. */
  occurrences(election: string): RecordOccurrenceStore {
    checkName("election", election);
    const records = this.#occurrences.get(election) ?? new MemoryRecordStore(this.clock);
    this.#occurrences.set(election, records);
    return new RecordOccurrenceStore(records, { clock: this.clock });
  }
}

interface Entry {
  readonly record: LeaseRecord;
  readonly version: number;
  readonly nonceWrittenMs: number;
}

/** Compare-and-swap on a map. It knows ages exactly, by the monotonic clock. */
export class MemoryRecordStore implements RecordStore {
  readonly name: string = "memory";
  readonly capabilities: RecordStoreCapabilities = {
    maxValueBytes: 65_536,
    fence: "none",
    storeClock: { toleranceMs: 0, exact: true },
    fleet: true,
  };
  readonly warnings: StoreWarnings = new LocalStoreWarnings("A memory store");
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  readonly #watchers = new Map<string, Set<() => void>>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  get(election: string): Promise<StoredRecord | undefined> {
    return Promise.resolve(this.#stored(election));
  }

  put(election: string, record: LeaseRecord, { ifVersion, keepsNonce, fence }: PutOptions): Promise<PutOutcome> {
    const present = this.#entries.get(election);
    if (ifVersion !== (present && String(present.version))) {
      return Promise.resolve({ stored: false, current: this.#stored(election) });
    }
    const version = (present?.version ?? 0) + 1;
    const nonceWrittenMs = keepsNonce && present ? present.nonceWrittenMs : this.#clock.monotonicMs();
    this.#entries.set(election, { record: Object.freeze({ ...record }), version, nonceWrittenMs });
    if (fence) for (const wake of this.#watchers.get(election) ?? []) wake();
    return Promise.resolve({ stored: true, version: String(version) });
  }

  async *list(prefix: string, { request }: ListRecordsOptions): AsyncGenerator<ListedRecord> {
    const names = await request(() => Promise.resolve([...this.#entries.keys()].filter((name) => name.startsWith(prefix))));
    for (const election of names) {
      const stored = this.#stored(election);
      if (stored) yield { election, stored };
    }
  }

  watch(election: string, { signal }: WatchOptions): AsyncGenerator<void> {
    const join = ({ changed }: WatchCallbacks): JoinedWatch => {
      const watchers = this.#watchers.get(election) ?? new Set();
      this.#watchers.set(election, watchers.add(changed));
      const leave = (): void => {
        if (watchers.delete(changed) && watchers.size === 0) this.#watchers.delete(election);
      };
      return { listening: Promise.resolve(), leave };
    };
    return wakeUps(join, signal);
  }

  #stored(election: string): StoredRecord | undefined {
    const entry = this.#entries.get(election);
    if (!entry) return undefined;
    const ageMs = this.#clock.monotonicMs() - entry.nonceWrittenMs;
    return { data: entry.record, version: String(entry.version), nonceAgeMs: [ageMs, ageMs] };
  }
}

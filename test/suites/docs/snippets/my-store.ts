import type { GetOptions, LeaseRecord, PutOptions, PutOutcome, RecordStore, StoredRecord } from "@leasehold/core/provider";

interface Entry {
  readonly json: string;
  readonly version: string;
}

/** The services that the store below stands on, by their URLs: here maps. */
const services = new Map<string, Map<string, Entry>>();

/** The least that qualifies: it can `get`, and `put` on a condition. */
export class MyRecordStore implements RecordStore {
  readonly name = "my-store";
  readonly capabilities = { maxValueBytes: 1_024, fence: "none", storeClock: undefined } as const;
  readonly #entries: Map<string, Entry>;

  constructor(url: string) {
    this.#entries = services.get(url) ?? new Map<string, Entry>();
  }

  get(election: string, _options: GetOptions): Promise<StoredRecord | undefined> {
    const entry = this.#entries.get(election);
    return Promise.resolve(entry && { data: JSON.parse(entry.json) as unknown, version: entry.version });
  }

  put(election: string, record: LeaseRecord, { ifVersion }: PutOptions): Promise<PutOutcome> {
    const present = this.#entries.get(election);
    if (present?.version !== ifVersion) return Promise.resolve({ stored: false });
    const version = String(Number(present?.version ?? 0) + 1);
    this.#entries.set(election, { json: JSON.stringify(record), version });
    return Promise.resolve({ stored: true, version });
  }
}

/** Starts a service for the store above. */
export function startMyService(): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const url = `map:${services.size}`;
  services.set(url, new Map());
  const stop = (): Promise<void> => Promise.resolve(services.get(url)?.clear());
  return Promise.resolve({ url, stop });
}

import type {
  GetOptions,
  LeaseRecord,
  PutOptions,
  PutOutcome,
  RecordStore,
  RecordStoreCapabilities,
  StoredRecord,
} from "@leasehold/core/provider";

/** A record store whose service also tells how old a nonce is, by a clock that the test sets. */
export class ClockedRecordStore implements RecordStore {
  readonly name: string = "clocked";
  readonly capabilities: RecordStoreCapabilities;
  /** What the service says next; `undefined`: nothing. */
  ageMs: readonly [min: number, max: number] | undefined;
  readonly #records: RecordStore;

  constructor(records: RecordStore, storeClock: { readonly toleranceMs: number; readonly exact: boolean }) {
    this.#records = records;
    this.capabilities = { ...records.capabilities, storeClock };
  }

  async get(election: string, options: GetOptions): Promise<StoredRecord | undefined> {
    const stored = await this.#records.get(election, options);
    return stored && { ...stored, nonceAgeMs: this.ageMs };
  }

  put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    return this.#records.put(election, record, options);
  }
}

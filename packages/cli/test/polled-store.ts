import { StoreError } from "@leasehold/core";
import {
  RecordLeaseStore,
  type LeaseRecord,
  type MemoryRecordStore,
  type PutOptions,
  type PutOutcome,
  type RecordStore,
  type StoredRecord,
} from "@leasehold/core/provider";
import type { VirtualClock } from "@leasehold/core/testing";

/** A record service without a clock and without pushes. Each process has its own connection, which a test can cut. */
export class Connection implements RecordStore {
  readonly name = "polled";
  readonly capabilities: MemoryRecordStore["capabilities"];
  readonly #service: MemoryRecordStore;
  isCut = false;

  constructor(service: MemoryRecordStore) {
    this.#service = service;
    this.capabilities = { ...service.capabilities, storeClock: undefined };
  }

  async get(election: string): Promise<StoredRecord | undefined> {
    this.#check("get");
    const { nonceAgeMs: _, ...stored } = (await this.#service.get(election)) ?? {};
    return "data" in stored ? (stored as StoredRecord) : undefined;
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    this.#check("put");
    return await this.#service.put(election, record, options);
  }

  store(clock: VirtualClock): RecordLeaseStore {
    return new RecordLeaseStore(this, { clock });
  }

  #check(operation: string): void {
    if (!this.isCut) return;
    throw new StoreError("STORE_UNAVAILABLE", "The connection is cut.", {
      store: this.name,
      operation,
      mayHaveBeenApplied: false,
    });
  }
}

import type {
  Clock,
  LeaseRecord,
  MemoryRecordStore,
  PutOptions,
  PutOutcome,
  RecordStore,
  RecordStoreCapabilities,
  StoredRecord,
} from "@leasehold/core/provider";

/** One request that the service has carried out. */
export interface Applied {
  readonly operation: "get" | "put";
  readonly sentMs: number;
  readonly answeredMs: number | undefined;
  /** The nonce that was read or written. */
  readonly nonce: string | undefined;
}

/**
 * One candidate's connection to a record store with the fewest features: it does not push, and has no clock. Each request takes
 * as long as one to a service in the same region.
 */
export class PolledRecordStore implements RecordStore {
  readonly name: string;
  readonly capabilities: RecordStoreCapabilities = { maxValueBytes: 1_024, fence: "none", storeClock: undefined };
  /** How many requests were sent. */
  sent = 0;
  /** The requests that the service has carried out, in order. */
  readonly applied: Applied[] = [];
  readonly #service: MemoryRecordStore;
  readonly #clock: Clock;
  readonly #latencyMs: number;
  #cut = false;

  /** @param candidateId becomes the store's name, so that each candidate's requests can be counted. */
  constructor(service: MemoryRecordStore, clock: Clock, candidateId: string, latencyMs: number) {
    this.#service = service;
    this.#clock = clock;
    this.name = candidateId;
    this.#latencyMs = latencyMs;
  }

  /** Drops every later request and reply, as if the candidate had crashed. */
  cut(): void {
    this.#cut = true;
  }

  async get(election: string): Promise<StoredRecord | undefined> {
    return await this.#send("get", async () => {
      const stored = await this.#service.get(election);
      return [stored && { data: stored.data, version: stored.version }, (stored?.data as LeaseRecord | undefined)?.nonce];
    });
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    return await this.#send<PutOutcome>("put", async () => {
      const { stored, ...outcome } = await this.#service.put(election, record, options);
      return stored ? [{ stored, version: (outcome as { version: string }).version }, record.nonce] : [{ stored }, undefined];
    });
  }

  async #send<T>(operation: "get" | "put", carryOut: () => Promise<[reply: T, nonce: string | undefined]>): Promise<T> {
    this.sent += 1;
    const sentMs = this.#clock.monotonicMs();
    await this.#half();
    const [reply, nonce] = await carryOut();
    const applied: { -readonly [Key in keyof Applied]: Applied[Key] } = { operation, sentMs, answeredMs: undefined, nonce };
    this.applied.push(applied);
    await this.#half();
    applied.answeredMs = this.#clock.monotonicMs();
    return reply;
  }

  /** Waits half a round trip, a tenth longer or shorter than usual. */
  async #half(): Promise<void> {
    const ms = (this.#latencyMs / 2) * (0.9 + this.#clock.random() / 5);
    if (!this.#cut) await new Promise<void>((resolve) => void this.#clock.setTimer(resolve, ms));
    if (this.#cut) await new Promise<never>(() => undefined);
  }
}

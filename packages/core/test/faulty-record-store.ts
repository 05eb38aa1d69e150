import { StoreError, type Clock, type StoreErrorCode } from "@leasehold/core";
import type {
  LeaseRecord,
  PutOptions,
  PutOutcome,
  RecordStore,
  RecordStoreCapabilities,
  StoredRecord,
} from "@leasehold/core/provider";
import { SimulatedRecordService, type VirtualClock } from "@leasehold/core/testing";

/** The fate of a request that does not go well. */
export type Fault =
  /** Never arrives, and is never answered. */
  | { readonly kind: "lost" }
  /** Is carried out; the reply is lost. */
  | { readonly kind: "unanswered" }
  /** Arrives that much later than usual; the reply is lost. */
  | { readonly kind: "late"; readonly byMs: number }
  /** Goes well, but takes this long. */
  | { readonly kind: "slow"; readonly latencyMs: number }
  /** Fails without having arrived, and says so. */
  | { readonly kind: "unavailable" }
  /** Is refused: rights are missing. */
  | { readonly kind: "denied" }
  /** Breaks off in a way that does not tell whether it was carried out. */
  | { readonly kind: "reset"; readonly applied: boolean }
  | { readonly kind: "throttled"; readonly retryAfterMs: number };

/** One request as it was sent. */
export interface LoggedRequest {
  readonly candidate: string;
  readonly operation: "get" | "put";
  readonly election: string;
  /** By the virtual clock. */
  readonly sentMs: number;
  /** The record that a put was to write. */
  readonly record?: LeaseRecord;
}

export interface ConnectionOptions {
  /** That of the candidate's process, by which replies are delivered. @defaultValue the service's */
  readonly clock?: Clock;
  /** Of a whole request. @defaultValue 0 */
  readonly latencyMs?: number;
  /** The service also tells how old a nonce is, as the test says in {@link FaultyRecordStore.ageMs}. */
  readonly storeClock?: RecordStoreCapabilities["storeClock"];
  /** See the capability of that name. @defaultValue false */
  readonly showsUndurable?: boolean | undefined;
}

/** One service that many candidates reach, each by a connection with faults of its own. It does not push. */
export class RecordService {
  readonly log: LoggedRequest[] = [];
  readonly #clock: VirtualClock;
  readonly #service: SimulatedRecordService;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
    this.#service = new SimulatedRecordService(clock);
  }

  connect(candidate: string, options: ConnectionOptions = {}): FaultyRecordStore {
    return new FaultyRecordStore(this, candidate, this.#clock, options);
  }

  /** The election's record as it lies in the store. */
  record(election: string): LeaseRecord | undefined {
    return this.get(election)?.data as LeaseRecord | undefined;
  }

  /** How many requests the candidate has sent, of one kind or of any. */
  count(candidate: string, operation?: "get" | "put"): number {
    return this.log.filter((sent) => sent.candidate === candidate && (operation === undefined || sent.operation === operation))
      .length;
  }

  get(election: string): StoredRecord | undefined {
    return this.#service.get(election);
  }

  put(election: string, record: LeaseRecord, options: PutOptions): PutOutcome {
    return this.#service.put(election, record, options);
  }

  /** Writes anything at all, unconditionally: what a stranger or an administrator with other tools might do. */
  overwrite(election: string, data: unknown): string {
    return this.#service.overwrite(election, data);
  }

  /** Returns what puts the record back as it is now: a failover that loses what was written since. */
  backUp(election: string): () => void {
    const backup = this.#service.backUp(election);
    return () => this.#service.restore(election, backup);
  }

  /** Deletes the record, which Leasehold itself never does. */
  remove(election: string): void {
    this.#service.remove(election);
  }
}

/** One candidate's connection to a {@link RecordService}. */
export class FaultyRecordStore implements RecordStore {
  readonly name: string = "faulty";
  readonly capabilities: RecordStoreCapabilities;
  latencyMs: number;
  /** The age of the nonce that the service tells; `undefined`: none. */
  ageMs: readonly [min: number, max: number] | undefined;
  readonly #service: RecordService;
  readonly #candidate: string;
  readonly #serviceClock: Clock;
  readonly #ownClock: Clock;
  readonly #next: { readonly get: Fault[]; readonly put: Fault[] } = { get: [], put: [] };
  readonly #always = new Map<"get" | "put", Fault>();
  /** The elections that may be read, and not written. */
  readonly #readOnly = new Set<string>();

  constructor(service: RecordService, candidate: string, serviceClock: Clock, options: ConnectionOptions) {
    const { clock = serviceClock, latencyMs = 0, storeClock, showsUndurable } = options;
    this.capabilities = { maxValueBytes: 1_024, fence: "none", storeClock, showsUndurable };
    this.#service = service;
    this.#candidate = candidate;
    this.#serviceClock = serviceClock;
    this.#ownClock = clock;
    this.latencyMs = latencyMs;
  }

  /** The fates of the next requests of this kind, in order. */
  failNext(operation: "get" | "put", ...faults: readonly Fault[]): void {
    this.#next[operation].push(...faults);
  }

  /** The fate of every request from now on, or of every request of one kind, until {@link heal}. */
  failAll(fault: Fault, ...operations: ReadonlyArray<"get" | "put">): void {
    for (const operation of operations.length > 0 ? operations : (["get", "put"] as const)) this.#always.set(operation, fault);
  }

  /** Refuses every write to one election from now on, until {@link heal}. */
  denyWrites(election: string): void {
    this.#readOnly.add(election);
  }

  heal(): void {
    this.#always.clear();
    this.#readOnly.clear();
  }

  get(election: string): Promise<StoredRecord | undefined> {
    return this.#send({ operation: "get", election }, () => {
      const stored = this.#service.get(election);
      return stored && this.ageMs ? { ...stored, nonceAgeMs: this.ageMs } : stored;
    });
  }

  put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    return this.#send({ operation: "put", election, record }, () => this.#service.put(election, record, options));
  }

  async #send<T>(request: Pick<LoggedRequest, "operation" | "election" | "record">, apply: () => T): Promise<T> {
    this.#service.log.push({ ...request, candidate: this.#candidate, sentMs: this.#serviceClock.monotonicMs() });
    const isDenied = request.operation === "put" && this.#readOnly.has(request.election);
    const fault =
      this.#next[request.operation].shift() ??
      this.#always.get(request.operation) ??
      (isDenied ? ({ kind: "denied" } as const) : undefined);
    const latencyMs = fault?.kind === "slow" ? fault.latencyMs : this.latencyMs;
    if (fault?.kind === "lost") return await silence();
    await pass(this.#serviceClock, latencyMs / 2 + (fault?.kind === "late" ? fault.byMs : 0));
    if (fault?.kind === "unavailable") throw this.#error("STORE_UNAVAILABLE", request.operation, false);
    if (fault?.kind === "denied") throw this.#error("STORE_DENIED", request.operation, false);
    if (fault?.kind === "throttled") throw this.#error("STORE_THROTTLED", request.operation, false, fault.retryAfterMs);
    if (fault?.kind === "reset" && !fault.applied) throw this.#error("STORE_UNAVAILABLE", request.operation, true);
    const result = apply();
    if (fault?.kind === "unanswered" || fault?.kind === "late") return await silence();
    await pass(this.#ownClock, latencyMs / 2);
    if (fault?.kind === "reset") throw this.#error("STORE_UNAVAILABLE", request.operation, true);
    return result;
  }

  #error(code: StoreErrorCode, operation: "get" | "put", mayHaveBeenApplied: boolean, retryAfterMs?: number): StoreError {
    const applied = mayHaveBeenApplied && operation === "put";
    return new StoreError(code, `${operation} failed: ${code}`, {
      store: this.name,
      operation,
      mayHaveBeenApplied: applied,
      retryAfterMs,
    });
  }
}

/** Waits without taking a turn where there is nothing to wait for. */
async function pass(clock: Clock, ms: number): Promise<void> {
  if (ms > 0) await new Promise<void>((resolve) => void clock.setTimer(resolve, ms));
}

function silence(): Promise<never> {
  return new Promise(() => undefined);
}

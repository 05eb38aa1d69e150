import { StoreError, type StoreErrorCode } from "@leasehold/core";
import type {
  Clock,
  LeaseRecord,
  PutOptions,
  PutOutcome,
  RecordStore,
  RecordStoreCapabilities,
  StoredRecord,
} from "@leasehold/core/provider";
import { SimulatedRecordService, type VirtualClock } from "@leasehold/core/testing";

/** The fate of a faulty request. */
export type Fault =
  /** It never arrives, and is never answered. */
  | { readonly kind: "lost" }
  /** It is carried out, and its reply is lost. */
  | { readonly kind: "unanswered" }
  /** It arrives this much later than usual, and its reply is lost. */
  | { readonly kind: "late"; readonly byMs: number }
  /** It succeeds, but takes this long. */
  | { readonly kind: "slow"; readonly latencyMs: number }
  /** It fails without having arrived, and the error says so. */
  | { readonly kind: "unavailable" }
  /** It is refused, because rights are missing. */
  | { readonly kind: "denied" }
  /** The connection breaks. The error does not tell if the request was carried out. */
  | { readonly kind: "reset"; readonly applied: boolean }
  | { readonly kind: "throttled"; readonly retryAfterMs: number };

/** One request, as it was sent. */
export interface LoggedRequest {
  readonly candidate: string;
  readonly operation: "get" | "put";
  readonly election: string;
  /** By the virtual clock. */
  readonly sentMs: number;
  /** The record of a put. */
  readonly record?: LeaseRecord;
}

export interface ConnectionOptions {
  /** The clock of the candidate's process, by which replies are delivered. @defaultValue the service's */
  readonly clock?: Clock;
  /** The latency of a whole request. @defaultValue 0 */
  readonly latencyMs?: number;
  /** Set if the service returns the age of a nonce. The test sets that age in {@link FaultyRecordStore.ageMs}. */
  readonly storeClock?: RecordStoreCapabilities["storeClock"];
  /** See the capability of the same name. @defaultValue false */
  readonly showsUndurable?: boolean | undefined;
}

/** One service for many candidates. Each candidate has its own connection, with its own faults. The service does not push. */
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

  /** Returns the election's record as it is stored. */
  record(election: string): LeaseRecord | undefined {
    return this.get(election)?.data as LeaseRecord | undefined;
  }

  /** Returns the number of requests that the candidate has sent: of one kind, or of any. */
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

  /** Writes any data unconditionally, as a foreign program or an administrator with other tools might. */
  overwrite(election: string, data: unknown): string {
    return this.#service.overwrite(election, data);
  }

  /** Returns a function that restores the present record: a failover that loses all later writes. */
  backUp(election: string): () => void {
    const backup = this.#service.backUp(election);
    return () => this.#service.restore(election, backup);
  }

  /** Deletes the record. Leasehold itself never does so. */
  remove(election: string): void {
    this.#service.remove(election);
  }
}

/** One candidate's connection to a {@link RecordService}. */
export class FaultyRecordStore implements RecordStore {
  readonly name: string = "faulty";
  readonly capabilities: RecordStoreCapabilities;
  latencyMs: number;
  /** The age of the nonce that the service returns; `undefined` if it returns none. */
  ageMs: readonly [min: number, max: number] | undefined;
  readonly #service: RecordService;
  readonly #candidate: string;
  readonly #serviceClock: Clock;
  readonly #ownClock: Clock;
  readonly #next: { readonly get: Fault[]; readonly put: Fault[] } = { get: [], put: [] };
  readonly #always = new Map<"get" | "put", Fault>();
  /** The elections that may be read but not written. */
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

  /** Sets the fates of the next requests of this kind, in order. */
  failNext(operation: "get" | "put", ...faults: readonly Fault[]): void {
    this.#next[operation].push(...faults);
  }

  /** Sets the fate of every request from now on, or of every request of some kinds, until {@link heal}. */
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

/** Waits, but takes no turn of the event loop if there is no time to wait for. */
async function pass(clock: Clock, ms: number): Promise<void> {
  if (ms > 0) await new Promise<void>((resolve) => void clock.setTimer(resolve, ms));
}

function silence(): Promise<never> {
  return new Promise(() => undefined);
}

import { StoreError } from "@leasehold/core";
import { barOf, RecordLeaseStore, RecordOccurrenceStore, type LeaseRecord, type RecordStore } from "@leasehold/core/provider";
import {
  carry,
  type AcceptedWrite,
  type Network,
  type ProcessClock,
  type SimulatedRecordServiceOptions,
  type VirtualClock,
} from "@leasehold/core/testing";
import {
  ELECTION,
  FASTEST_RATE,
  newServiceView,
  transferMark,
  type Claim,
  type ConnectionFaults,
  type RequestFailure,
  type ServiceView,
  type SimulatedStore,
  type StoreAccess,
} from "./simulated-store.ts";
import { Turn } from "./turn.ts";

/** The leases of elections, and the occurrences of their schedules, in one service. */
class LeasesAndOccurrences extends RecordLeaseStore {
  readonly #records: RecordStore;
  readonly #clock: ProcessClock;

  constructor(records: RecordStore, clock: ProcessClock) {
    super(records, { clock });
    this.#records = records;
    this.#clock = clock;
  }

  occurrences(): RecordOccurrenceStore {
    return new RecordOccurrenceStore(this.#records, { clock: this.#clock });
  }
}

function claimOf({ term, termId, done }: LeaseRecord): Claim {
  return { term, termId, done: done === true };
}

/** Returns the administrators' orders that a record shows. */
function ordersOf(record: LeaseRecord | undefined): readonly string[] {
  if (!record) return [];
  const { broken, termId, leaseDurationMs } = record;
  const transfer = barOf(record, "transfer");
  // The time of a transfer begins at the end of the lease, or of the hold.
  const fromMs = (termId === null ? barOf(record, "hold")?.untilMs : leaseDurationMs) ?? 0;
  return [...(broken ? [broken.reason] : []), ...(transfer ? [transferMark((transfer.untilMs ?? 0) - fromMs)] : [])];
}

/** A service that keeps records, on one machine or on several. */
export interface RecordService {
  onAccepted: ((write: AcceptedWrite) => void) | undefined;
  connect(process: ProcessClock, network: Network): RecordStore;
  admits(election: string, leadership: { readonly term: number; readonly termId: string }): boolean;
  overwrite(election: string, data: unknown): unknown;
  readonly connections?: ConnectionFaults;
  stepClock?(ms: number): void;
  failOver?(aheadMs: number): void;
  cutOff?(): void;
  rejoin?(): void;
}

/** The state when the replica was cut off. */
interface Durable {
  readonly record: LeaseRecord | undefined;
  readonly turn: Turn;
  /** The occurrences that were written since, in their state of that time. */
  readonly claims: Map<string, Claim | undefined>;
}

/** A compare-and-swap record, polled or pushed, with or without a clock of its own. `RecordLeaseStore` decides the lease. */
export class SimulatedRecords implements SimulatedStore {
  readonly view: ServiceView = newServiceView();
  readonly keepsOccurrences: boolean;
  readonly #world: VirtualClock;
  readonly #service: RecordService;
  /** The present record. Undefined before the first, and while it is corrupted. */
  #record: LeaseRecord | undefined;
  #turn: Turn;
  #durable: Durable | undefined;

  constructor(world: VirtualClock, service: RecordService, options: Pick<SimulatedRecordServiceOptions, "storeClock"> = {}) {
    this.#world = world;
    this.#service = service;
    this.#turn = new Turn(options.storeClock?.toleranceMs ?? 0);
    this.keepsOccurrences = options.storeClock !== undefined;
    this.#service.onAccepted = (write) => {
      const { election, before, record } = write;
      if (election !== ELECTION) {
        const claim = before && claimOf(before);
        if (this.#durable && !this.#durable.claims.has(election)) this.#durable.claims.set(election, claim);
        return this.view.claimed(election, claim, claimOf(record));
      }
      const order = ordersOf(record).find((mark) => !ordersOf(before).includes(mark));
      if (order !== undefined) this.view.ordered(order, record.term);
      const isItsHolders = record.termId !== null && before?.termId === record.termId;
      if (isItsHolders && before.broken && !record.broken) this.view.wroteBroken(record.term);
      if (record.termId !== null && record.termId !== before?.termId) {
        const { term, termId, candidateId } = record;
        this.view.granted({
          term,
          termId,
          candidateId: candidateId ?? "",
          barredUntilMs: before?.termId ? this.#turn.nonceMs + before.leaseDurationMs / FASTEST_RATE : -Infinity,
          heldBy: before?.candidateId ?? undefined,
          barredBy: this.#turn.barring(write),
          lifted: this.#turn.lifted,
        });
      }
      this.#turn.wrote(write);
      this.#record = record;
    };
  }

  get connections(): ConnectionFaults | undefined {
    return this.#service.connections;
  }

  get held(): boolean {
    return typeof this.#record?.termId === "string";
  }

  connect(process: ProcessClock, network: Network): StoreAccess {
    const store = new LeasesAndOccurrences(this.#service.connect(process, network), process);
    return {
      store,
      seal: () => Promise.resolve(),
      write: ({ term, termId }, entry) =>
        carry(this.#world, process, network({ operation: "write" }), () => {
          if (!this.#service.admits(ELECTION, { term, termId })) throw new Error("The service refuses the write.");
          if (this.#record?.broken) this.view.wroteBroken(term);
          this.view.wrote({ term, entry });
        }),
    };
  }

  barredUntilMs(termId: string): number {
    const record = this.#record;
    if (record?.termId !== termId) return -Infinity;
    return this.#turn.nonceMs + record.leaseDurationMs / FASTEST_RATE;
  }

  failure(how: RequestFailure, operation: string, retryAfterMs: number): Error {
    const code = how === "throttled" ? "STORE_THROTTLED" : "STORE_UNAVAILABLE";
    return new StoreError(code, `${operation}: ${how}`, {
      store: "simulated",
      operation,
      mayHaveBeenApplied: how === "reset" && operation === "put",
      ...(how === "throttled" ? { retryAfterMs } : {}),
    });
  }

  corrupt(): (() => void) | undefined {
    const sound = this.#record;
    if (sound === undefined) return undefined;
    this.#record = undefined;
    this.#service.overwrite(ELECTION, { schema: 1, term: "seven" });
    return () => {
      this.#service.overwrite(ELECTION, sound);
      this.#record = sound;
    };
  }

  stepClock(ms: number): void {
    this.#service.stepClock?.(ms);
    this.#turn.clockStepped();
  }

  failOver(aheadMs: number): void {
    this.#service.failOver?.(aheadMs);
    const durable = this.#durable;
    this.#durable = undefined;
    if (!durable) return;
    this.#record = durable.record;
    this.#turn = durable.turn;
    this.view.rolledBack(durable.record?.term ?? 0, durable.claims);
  }

  cutOff(): void {
    this.#service.cutOff?.();
    this.#durable ??= { record: this.#record, turn: this.#turn.copy(), claims: new Map() };
  }

  get isCutOff(): boolean {
    return this.#durable !== undefined;
  }

  rejoin(): void {
    this.#service.rejoin?.();
    this.#durable = undefined;
  }
}

import { Elector, type ElectorOptions, type LeaderTask } from "@leasehold/core";
import { type Clock, RecordLeaseStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { ELECTION, RENEW_INTERVAL_MS } from "@leasehold/test-kit/acquisitions";
import { EventLog } from "@leasehold/test-kit/event-log";
import { RecordService, type FaultyRecordStore } from "./faulty-record-store.ts";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";

/** The durations that follow from the default lease. */
export const RENEW_DEADLINE_MS = 10_000;
export const VALID_FOR_MS = 13_500;
export const ATTEMPT_TIMEOUT_MS: number = (RENEW_DEADLINE_MS - RENEW_INTERVAL_MS) / 3;
export const RETRY_PERIOD_MS = 2_000;

/** The failing writes of a standby: one, which proves that it may write. */
export const PROOFS = 1;

export interface CandidateOptions extends Partial<Omit<ElectorOptions, "store" | "candidateId" | "clock">> {
  /** The clock of its process. @defaultValue the world's */
  readonly clock?: Clock;
  readonly latencyMs?: number;
  /** True if a failover may undo writes that the service shows. */
  readonly showsUndurable?: boolean;
  /** Another candidate of the same process; both share its store. */
  readonly beside?: Candidate;
}

/** A virtual clock, one record service that can only be polled, and the candidates that reach it. */
export class ElectionWorld {
  readonly clock: VirtualClock;
  readonly service: RecordService;

  constructor(seed = 1) {
    this.clock = new VirtualClock(seed);
    this.service = new RecordService(this.clock);
  }

  candidate(candidateId: string, options: CandidateOptions = {}): Candidate {
    return new Candidate(this, candidateId, options);
  }
}

/** A candidate. It usually has its own process, and then its store shares no memory with another one. */
export class Candidate {
  readonly clock: Clock;
  /** Its connection, which can inject faults. */
  readonly records: FaultyRecordStore;
  readonly store: RecordLeaseStore;
  readonly elector: Elector;
  readonly events: EventLog;

  constructor(world: ElectionWorld, candidateId: string, options: CandidateOptions) {
    const { beside, clock = beside?.clock ?? world.clock, latencyMs = 0, showsUndurable, ...electorOptions } = options;
    this.clock = clock;
    this.records = beside?.records ?? world.service.connect(candidateId, { clock, latencyMs, showsUndurable });
    this.store = beside?.store ?? new RecordLeaseStore(this.records, { clock });
    this.elector = new Elector({ election: ELECTION, logger: false, ...electorOptions, store: this.store, candidateId, clock });
    this.events = new EventLog(this.elector, clock);
  }

  /** Runs a task until it is stopped. */
  run(task: LeaderTask<unknown> = untilAborted): Run {
    const stopping = new AbortController();
    const settled = this.elector.run(task, { signal: stopping.signal });
    // A test checks the rejection later, so it must not count as unhandled now.
    settled.catch(() => undefined);
    return { signal: stopping.signal, settled, stop: (reason) => stopping.abort(reason) };
  }
}

export interface Run {
  readonly signal: AbortSignal;
  readonly settled: Promise<void>;
  readonly stop: (reason?: unknown) => void;
}

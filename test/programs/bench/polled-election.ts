import { Elector, type StopOptions } from "@leasehold/core";
import { MemoryRecordStore, RecordLeaseStore, sleep } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { PolledRecordStore } from "./polled-record-store.ts";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";

const ELECTION = "bench";
/** The time of a conditional write to a database in the same region. */
const LATENCY_MS = 10;
export const LEASE_MS = 15_000;
export const RENEW_INTERVAL_MS: number = LEASE_MS / 3;

/** A candidate under the virtual clock. */
export interface PolledCandidate {
  readonly records: PolledRecordStore;
  /** Resolves when it starts to lead, with the time. */
  readonly leads: Promise<number>;
  /** Resolves when its task has settled, with the time. */
  readonly left: Promise<number>;
  stop(options?: StopOptions): Promise<void>;
}

/** An election under a virtual clock, on a record store that can only be polled. An hour of it takes a moment. */
export class PolledElection {
  readonly clock: VirtualClock;
  readonly #service: MemoryRecordStore;

  constructor(seed: number) {
    this.clock = new VirtualClock(seed);
    this.#service = new MemoryRecordStore(this.clock);
  }

  /** @param drainMs how long its task takes to settle. */
  campaign(candidateId: string, drainMs = 0): PolledCandidate {
    const { clock } = this;
    const records = new PolledRecordStore(this.#service, clock, candidateId, LATENCY_MS);
    const store = new RecordLeaseStore(records, { clock });
    const elector = new Elector({ store, election: ELECTION, candidateId, clock, leaseDurationMs: LEASE_MS });
    const leads = Promise.withResolvers<number>();
    elector.on("startedLeading", () => leads.resolve(clock.monotonicMs()));
    const left = Promise.withResolvers<number>();
    void elector.run(async (leadership) => {
      await untilAborted(leadership);
      if (drainMs > 0) await sleep(clock, drainMs);
      left.resolve(clock.monotonicMs());
    });
    return { records, leads: leads.promise, left: left.promise, stop: (options) => clock.runUntil(elector.stop(options)) };
  }
}

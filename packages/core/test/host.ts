import type { LeaseStore } from "@leasehold/core";
import { RecordLeaseStore, RecordOccurrenceStore } from "@leasehold/core/provider";
import {
  ProcessClock,
  promptNetwork,
  SimulatedRecordService,
  type Network,
  type Passage,
  type ProcessClockOptions,
  type VirtualClock,
} from "@leasehold/core/testing";

/** Returns a service that keeps occurrences and knows their age, for hosts with different clocks. */
export function occurrenceService(world: VirtualClock): SimulatedRecordService {
  return new SimulatedRecordService(world, { storeClock: { toleranceMs: 0, exact: true } });
}

/** One host of a job: its clocks, its store, and a network that a test can cut. */
export class Host {
  readonly clock: ProcessClock;
  readonly store: LeaseStore;
  /** The requests that it has sent. */
  readonly requests: string[] = [];
  /** The fate of its requests. By default they succeed without delay. */
  network: Network = promptNetwork();

  constructor(world: VirtualClock, service: SimulatedRecordService, options: ProcessClockOptions = {}) {
    this.clock = new ProcessClock(world, options);
    const network: Network = (request): Passage => {
      this.requests.push(request.operation);
      return this.network(request);
    };
    const { clock } = this;
    const records = service.connect(clock, network);
    this.store = Object.assign(new RecordLeaseStore(records, { clock }), {
      occurrences: () => new RecordOccurrenceStore(records, { clock }),
    });
  }
}

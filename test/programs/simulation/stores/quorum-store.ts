import type { SeededRandom, SimulatedRecordServiceOptions, VirtualClock } from "@leasehold/core/testing";
import { QuorumService } from "./quorum-service.ts";
import { SimulatedRecords } from "./record-store.ts";
import type { MemberFaults, ServiceView } from "./simulated-store.ts";

/** A record in three services, each with faults of its own. It shows what a majority has chosen. */
export class SimulatedQuorum extends SimulatedRecords {
  readonly members: MemberFaults;

  /** @param options of each member's service. */
  constructor(world: VirtualClock, random: SeededRandom, options: SimulatedRecordServiceOptions) {
    const service = new QuorumService(world, random, options);
    super(world, service, options);
    this.members = service;
    const view: ServiceView = this.view;
    service.onForked = (what) => view.forked(what);
  }
}

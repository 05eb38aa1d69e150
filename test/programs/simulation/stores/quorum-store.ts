import type { SeededRandom, VirtualClock } from "@leasehold/core/testing";
import { QuorumService } from "./quorum-service.ts";
import { SimulatedRecords } from "./record-store.ts";
import type { MemberFaults, ServiceView } from "./simulated-store.ts";

/** A record that three services keep, each with faults of its own: what a majority has chosen is what it says. */
export class SimulatedQuorum extends SimulatedRecords {
  readonly members: MemberFaults;

  constructor(world: VirtualClock, random: SeededRandom) {
    const service = new QuorumService(world, random);
    super(world, service);
    this.members = service;
    const view: ServiceView = this.view;
    service.onForked = (what) => view.forked(what);
  }
}

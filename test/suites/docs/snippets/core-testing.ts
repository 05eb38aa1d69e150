import { Elector } from "@leasehold/core";
import { RecordLeaseStore } from "@leasehold/core/provider";
import { ProcessClock, promptNetwork, SimulatedRecordService, VirtualClock, type Network } from "@leasehold/core/testing";

declare function billUntil(signal: AbortSignal): Promise<void>;

const world = new VirtualClock();
const service = new SimulatedRecordService(world);
let isCutOff = false;

/** A candidate on a machine of its own. */
function candidate(candidateId: string, rate: number, network: Network): Elector {
  const clock = new ProcessClock(world, { rate });
  const store = new RecordLeaseStore(service.connect(clock, network), { clock });
  return new Elector({ store, election: "nightly-billing", candidateId, clock });
}

const a = candidate("a", 0.98, (request) => (isCutOff ? { arrivals: [] } : promptNetwork(5)(request)));
const b = candidate("b", 1.02, promptNetwork(5));
void a.run(async ({ signal }) => billUntil(signal));
await world.advance(100);
void b.run(async ({ signal }) => billUntil(signal));
await world.advance(60_000); // a leads, for a minute that takes no time
isCutOff = true;
await world.advance(20_000); // a has given up, and b leads

import { Elector, type ElectorOptions } from "@leasehold/core";
import { RecordLeaseStore } from "@leasehold/core/provider";
import { carry, ProcessClock, promptNetwork, VirtualClock } from "@leasehold/core/testing";
import { KubernetesApi } from "@leasehold/test-kit/simulated/kubernetes-api";
import type { LeaseSpec } from "@leasehold/test-kit/simulated/kubernetes-objects";
import { simulatedTransport } from "@leasehold/test-kit/simulated/kubernetes-transport";
import { KubernetesRecordStore } from "../src/kubernetes-record-store.ts";
import { failureOf, type ApiTransport } from "../src/transport.ts";
import { GoCandidate } from "./go-candidate.ts";

export const ELECTION = "nightly-billing";

/** An API server in virtual time, and the processes that use it. */
export class KubernetesWorld {
  readonly clock: VirtualClock;
  readonly api = new KubernetesApi();

  constructor(seed = 1) {
    this.clock = new VirtualClock(seed);
  }

  transport(process: ProcessClock, latencyMs = 1): ApiTransport {
    return simulatedTransport({ api: this.api, world: this.clock, process, network: promptNetwork(latencyMs), failureOf });
  }

  /** Returns the store of one more process. */
  store(process: ProcessClock = new ProcessClock(this.clock)): RecordLeaseStore {
    return new RecordLeaseStore(new KubernetesRecordStore(this.transport(process), "default", process), { clock: process });
  }

  elector(candidateId: string, options: Partial<ElectorOptions> & { readonly process?: ProcessClock } = {}): Elector {
    const { process = new ProcessClock(this.clock), ...rest } = options;
    return new Elector({ store: this.store(process), election: ELECTION, candidateId, logger: false, ...rest });
  }

  go(identity: string, process: ProcessClock = new ProcessClock(this.clock)): GoCandidate {
    const passage = promptNetwork(1)({ operation: "go" });
    const call: ConstructorParameters<typeof GoCandidate>[0]["call"] = (request) =>
      carry(this.clock, process, passage, () => structuredClone(this.api.handle(request)));
    return new GoCandidate({ clock: process, call, lease: ELECTION, identity });
  }

  /** The present `spec`, as an administrator sees it. */
  get spec(): LeaseSpec {
    return this.api.lease(ELECTION)?.spec ?? {};
  }
}

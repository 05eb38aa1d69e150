import { Elector } from "@leasehold/core";
import { KubernetesLeaseStore } from "@leasehold/kubernetes";

const store = new KubernetesLeaseStore();
const elector = new Elector({ store, election: "nightly-billing" });

await elector.run(
  async (leadership) => {
    while (!leadership.signal.aborted) await billNextCustomer(leadership.signal);
  },
  { stopOn: ["SIGTERM"] },
);
// Not shown:
declare function billNextCustomer(signal: AbortSignal): Promise<void>;

import { Elector } from "@leasehold/core";
import { BlobLeaseStore } from "@leasehold/azure-blob";

const store = new BlobLeaseStore({ accountUrl: "https://acme.blob.core.windows.net", containerName: "leases" });
const elector = new Elector({ store, election: "nightly-billing" });

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());

await elector.run(
  async (leadership) => {
    while (!leadership.signal.aborted) await billNextCustomer(leadership);
  },
  { signal: stop.signal },
);

declare function billNextCustomer(options: { signal: AbortSignal }): Promise<void>;

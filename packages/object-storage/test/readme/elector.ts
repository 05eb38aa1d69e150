import { S3Client } from "@aws-sdk/client-s3";
import { Elector } from "@leasehold/core";
import { ObjectStorageLeaseStore } from "@leasehold/object-storage";

const store = new ObjectStorageLeaseStore({ client: new S3Client({ region: "eu-west-1" }), bucket: "acme-leases" });
const elector = new Elector({ store, election: "nightly-billing" });

const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());

await elector.run(
  async (leadership) => {
    while (!leadership.signal.aborted) await billNextCustomer(leadership.signal);
  },
  { signal: stopping.signal },
);
// Not shown:
declare function billNextCustomer(signal: AbortSignal): Promise<void>;

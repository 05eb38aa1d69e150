import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Elector } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";

const store = new DynamoDBLeaseStore({ client: new DynamoDBClient({}), tableName: "leases" });
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

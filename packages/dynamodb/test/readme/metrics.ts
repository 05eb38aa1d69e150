import { Elector } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { publishMetrics } from "@leasehold/dynamodb/cloudwatch";

const elector = new Elector({ store: new DynamoDBLeaseStore({ tableName: "leases" }), election: "nightly-billing" });
using metrics = publishMetrics(elector);
await elector.run(task, { signal });
// Not shown:
declare function task(): Promise<void>;
declare const signal: AbortSignal;
void metrics;

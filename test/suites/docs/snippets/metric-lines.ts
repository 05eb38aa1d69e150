import { Elector } from "@leasehold/core";
import { publishMetrics } from "@leasehold/core/diagnostics";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";

const elector = new Elector({ store: new DynamoDBLeaseStore({ tableName: "leases" }), election: "nightly-billing" });
using metrics = publishMetrics(elector);
await elector.run(task, { signal });
// Not shown:
declare function task(): Promise<void>;
declare const signal: AbortSignal;
void metrics;

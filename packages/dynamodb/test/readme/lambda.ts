import { Elector } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";

const store = new DynamoDBLeaseStore({ tableName: "leases" });
const elector = new Elector({ store, election: "nightly-report", leaseDurationMs: 30_000 });

export async function handler(): Promise<string> {
  const outcome = await elector.tryRun(async (leadership) => await writeReport(leadership.signal));
  return outcome.elected ? `done in term ${outcome.term}` : `left to ${outcome.leader?.candidateId ?? "another"}`;
}
// Not shown:
declare function writeReport(signal: AbortSignal): Promise<void>;

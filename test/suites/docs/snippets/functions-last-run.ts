import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { lastRun } from "@leasehold/functions";

declare function raiseAlarm(last: Awaited<ReturnType<typeof lastRun>>): Promise<void>;

const store = new DynamoDBLeaseStore({ tableName: "leases" });

export async function checkLastRun(): Promise<void> {
  const last = await lastRun(store, "close-the-books");
  if (!last || Date.now() - last.doneMs > 2 * 3_600_000) await raiseAlarm(last);
}

import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { onlyAsLeader } from "@leasehold/functions";

declare function refreshRates(signal: AbortSignal): Promise<void>;

const store = new DynamoDBLeaseStore({ tableName: "leases" });

const refresh = onlyAsLeader({ store, election: "exchange-rates", remainingMs: 60_000 }, async (leadership) => {
  await refreshRates(leadership.signal);
});

export const handlers = [refresh];

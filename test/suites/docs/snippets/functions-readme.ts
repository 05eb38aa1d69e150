import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import type { FunctionLeadership } from "@leasehold/functions";
import { onlyAsLeader } from "@leasehold/functions/aws-lambda";

declare function dueAccounts(time: string): Promise<string[]>;
declare function bill(account: string, options: { signal: AbortSignal; term: number }): Promise<void>;
declare function refreshRates(signal: AbortSignal): Promise<void>;
declare function closeHour(
  occurrence: FunctionLeadership["occurrence"],
  fence: FunctionLeadership<DynamoDBLeaseStore>["fence"],
): Promise<void>;

const store = new DynamoDBLeaseStore({ tableName: "leases" });

export const handler = onlyAsLeader({ store, election: "nightly-billing" }, async (event, _context, leadership) => {
  for (const account of await dueAccounts(event.time)) {
    leadership.assertValid();
    await bill(account, { signal: leadership.signal, term: leadership.term });
  }
});

const refresh = onlyAsLeader(
  { gate: "sticky", store, election: "exchange-rates", group: "eu-west-1", periodMs: 60_000, missedTicks: 2 },
  async (_event, _context, leadership) => await refreshRates(leadership.signal),
);

const close = onlyAsLeader(
  { gate: "oncePerTick", store, election: "close-the-books" },
  async (_event, _context, leadership) => await closeHour(leadership.occurrence, leadership.fence),
);

export const handlers = [refresh, close];

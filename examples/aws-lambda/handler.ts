import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { onlyAsLeader } from "@leasehold/functions/aws-lambda";

const { LEASE_TABLE: tableName = "leases", REPORT_TABLE: reports = "reports", LEASE_TABLE_REGION: region } = process.env;
// Do not use the region of this function, because each region would then have its own table, and do every hour.
if (!region) throw new Error("Set LEASE_TABLE_REGION to the one region that the table of leases is in.");
const client = DynamoDBDocumentClient.from(new DynamoDBClient({ region }));

// Keep it outside the handler, so that a warm instance keeps its connections and its measure of DynamoDB's clock.
const store = new DynamoDBLeaseStore({ client, tableName });

/** Writes one report for each hour, for any number of deliveries and regions. */
export const handler = onlyAsLeader(
  { gate: "oncePerTick", store, election: "hourly-report" },
  async (event, _context, { signal, term }) => {
    const report = { hour: event.time, attempt: term, total: await salesOf(event.time, signal) };
    await client.send(new PutCommand({ TableName: reports, Item: report }), { abortSignal: signal });
    return report;
  },
);

/** A placeholder for long work. Pass the signal to every call that can be cancelled. */
async function salesOf(hour: string, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted();
  return await Promise.resolve(hour.length);
}

import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { onlyAsLeader } from "@leasehold/functions/aws-lambda";

const { LEASE_TABLE: tableName = "leases", REPORT_TABLE: reports = "reports" } = process.env;
const client = DynamoDBDocumentClient.from(new DynamoDBClient({}));

// Outside the handler: a warm instance keeps its connections, and what it knows of DynamoDB's clock.
const store = new DynamoDBLeaseStore({ client, tableName });

/** Writes one report for each hour, however often and in however many regions that hour's event is delivered. */
export const handler = onlyAsLeader(
  { gate: "oncePerTick", store, election: "hourly-report" },
  async (event, _context, { signal, term }) => {
    const report = { hour: event.time, attempt: term, total: await salesOf(event.time, signal) };
    await client.send(new PutCommand({ TableName: reports, Item: report }), { abortSignal: signal });
    return report;
  },
);

/** Stands for work that takes a while: give the signal to whatever can be cancelled. */
async function salesOf(hour: string, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted();
  return await Promise.resolve(hour.length);
}

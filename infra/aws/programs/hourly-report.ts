import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { onlyAsLeader } from "@leasehold/functions/aws-lambda";
import type { Context, ScheduledEvent } from "aws-lambda";

// All of them are set by LeaderScheduledFunction.
const { LEASE_TABLE: tableName = "", LEASE_TABLE_REGION: region = "", ELECTION: election = "" } = process.env;
const { LEASE_WAIT_MS = "0" } = process.env;

// The table's region, wherever this runs.
const store = new DynamoDBLeaseStore({ client: new DynamoDBClient({ region }), tableName });

/** Does each hour once, however often and in however many regions that hour's event is delivered. */
export const handler: (event: ScheduledEvent, context: Context) => Promise<unknown> = onlyAsLeader(
  { gate: "oncePerTick", store, election, waitMs: Number(LEASE_WAIT_MS) },
  async (event, _context, { signal, term }) => {
    const report = { hour: event.time, attempt: term };
    console.log(JSON.stringify(report));
    // What takes a while goes here, with the signal; and it throws if it was cut short, or the hour would count as done.
    await Promise.resolve();
    signal.throwIfAborted();
    return report;
  },
);

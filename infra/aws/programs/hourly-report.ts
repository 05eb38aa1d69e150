import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { onlyAsLeader } from "@leasehold/functions/aws-lambda";
import type { Context, ScheduledEvent } from "aws-lambda";

// LeaderScheduledFunction sets all of these.
const { LEASE_TABLE: tableName = "", LEASE_TABLE_REGION: region = "", ELECTION: election = "" } = process.env;
const { LEASE_WAIT_MS = "0" } = process.env;

// Use the table's region, wherever this program runs.
const store = new DynamoDBLeaseStore({ client: new DynamoDBClient({ region }), tableName });

/** Does each hour once, for any number of deliveries and regions. */
export const handler: (event: ScheduledEvent, context: Context) => Promise<unknown> = onlyAsLeader(
  { gate: "oncePerTick", store, election, waitMs: Number(LEASE_WAIT_MS) },
  async (event, _context, { signal, term }) => {
    const report = { hour: event.time, attempt: term };
    console.log(JSON.stringify(report));
    // Put the long work here, with the signal. Throw if it was cut short, because otherwise the hour counts as done.
    await Promise.resolve();
    signal.throwIfAborted();
    return report;
  },
);

import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { onlyAsLeader } from "@leasehold/functions/aws-lambda";
import type { Context, ScheduledEvent } from "aws-lambda";

const { LEASE_TABLE: tableName = "", ELECTION: election = "" } = process.env;

/** Does each hour once, however often and in however many regions that hour's event is delivered. */
export const handler: (event: ScheduledEvent, context: Context) => Promise<unknown> = onlyAsLeader(
  { gate: "oncePerTick", store: new DynamoDBLeaseStore({ tableName }), election },
  async (event, _context, { signal, term }) => {
    const report = { hour: event.time, attempt: term };
    console.log(JSON.stringify(report));
    // What takes a while goes here, with the signal; and it throws if it was cut short, or the hour would count as done.
    await Promise.resolve();
    signal.throwIfAborted();
    return report;
  },
);

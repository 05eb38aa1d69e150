import type { Clock } from "@leasehold/core";
import { DynamoDBRequests, type AnyDynamoDBClient } from "./requests.ts";
import { DynamoDBClock } from "./clock.ts";
import { TableCheck } from "./table-check.ts";

/** A table as one lease store reaches it, with what its requests have taught: its leases and occurrences share that. */
export class LeaseTable {
  readonly name: string;
  readonly clock: Clock;
  readonly time: DynamoDBClock;
  readonly requests: DynamoDBRequests;
  readonly fitness: TableCheck;

  /** @throws {ConfigurationError} unless it is a client whose own retries can be kept off. */
  constructor(client: AnyDynamoDBClient, name: string, clock: Clock) {
    this.name = name;
    this.clock = clock;
    this.time = new DynamoDBClock(clock);
    this.requests = new DynamoDBRequests(client, clock, this.time);
    this.fitness = new TableCheck(this.requests, clock, name);
  }
}

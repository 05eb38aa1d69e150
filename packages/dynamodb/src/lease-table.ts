import type { Clock } from "@leasehold/core/provider";
import { DynamoDBRequests, type AnyDynamoDBClient } from "./requests.ts";
import { DynamoDBClock } from "./clock.ts";
import { TableCheck } from "./table-check.ts";

/**
 * A table, and the state that one lease store has learned about it from replies. The store's leases and occurrences share this.
 */
export class LeaseTable {
  readonly name: string;
  readonly clock: Clock;
  readonly time: DynamoDBClock;
  readonly requests: DynamoDBRequests;
  readonly fitness: TableCheck;

  /** @throws {ConfigurationError} unless the client's own retries can be turned off. */
  constructor(client: AnyDynamoDBClient, name: string, clock: Clock) {
    this.name = name;
    this.clock = clock;
    this.time = new DynamoDBClock(clock);
    this.requests = new DynamoDBRequests(client, clock, this.time);
    this.fitness = new TableCheck(this.requests, clock, name);
  }
}

import type { Clock } from "@leasehold/core";
import { OneRequest, type AnyDynamoDBClient } from "./one-request.ts";
import { StoreTime } from "./store-time.ts";
import { TableCheck } from "./table-check.ts";

/** A table as one lease store reaches it, with what its requests have taught: its leases and occurrences share that. */
export class LeaseTable {
  readonly name: string;
  readonly clock: Clock;
  readonly time: StoreTime;
  readonly requests: OneRequest;
  readonly fitness: TableCheck;

  /** @throws {ConfigurationError} unless it is a client whose own retries can be kept off. */
  constructor(client: AnyDynamoDBClient, name: string, clock: Clock) {
    this.name = name;
    this.clock = clock;
    this.time = new StoreTime(clock);
    this.requests = new OneRequest(client, clock, this.time);
    this.fitness = new TableCheck(this.requests, clock, name);
  }
}

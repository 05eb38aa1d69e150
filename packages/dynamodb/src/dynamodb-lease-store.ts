import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { systemClock, type CheckOptions, type CheckReport, type OccurrenceOptions } from "@leasehold/core";
import {
  checkName,
  checkOptions,
  DEFAULT_REQUEST_TIMEOUT_MS,
  duration,
  RecordLeaseStore,
  type Fenced,
} from "@leasehold/core/provider";
import { DynamoDBOccurrenceStore } from "./dynamodb-occurrence-store.ts";
import { DynamoDBRecordStore } from "./dynamodb-record-store.ts";
import { toStoreError } from "./dynamodb-errors.ts";
import { fenceOn, type DynamoDBFence } from "./fence.ts";
import { LeaseTable } from "./lease-table.ts";
import { checkTableName, OPTIONS, type DynamoDBLeaseStoreOptions } from "./options.ts";
import type { AnyDynamoDBClient } from "./requests.ts";
import { leaseKey, PARTITION_KEY, SORT_KEY } from "./schema.ts";

/**
 * Leases on items of a DynamoDB table, one per election (and one per occurrence): conditional writes, and no transaction.
 *
 * Guarantees: as {@link RecordLeaseStore}, where the table is in one region or replicated with strong consistency.
 * `store-clock` expiry judges by bounds of DynamoDB's own clock, taken from the `Date` headers of its replies, and
 * assumes that the clocks of its machines agree within a second.
 *
 * Costs at the defaults: a leader 720 writes an hour, a standby about 2,300 eventually consistent reads.
 */
export class DynamoDBLeaseStore extends RecordLeaseStore {
  readonly #client: AnyDynamoDBClient;
  readonly #table: LeaseTable;

  /** @throws {ConfigurationError} for options that cannot work, before any request. */
  constructor(options: DynamoDBLeaseStoreOptions) {
    checkOptions("DynamoDBLeaseStore", options, OPTIONS);
    const { tableName, client = new DynamoDBClient({}), clock = systemClock } = options;
    checkTableName(tableName);
    const table = new LeaseTable(client, tableName, clock);
    super(new DynamoDBRecordStore(table, { keyOf: leaseKey }), { clock });
    this.#client = client;
    this.#table = table;
  }

  /** Waits for what the control plane says of the table as well, for as long as of a request; the times told are without that. */
  override async check(options: CheckOptions): Promise<CheckReport> {
    const report = await super.check(options);
    const { election, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
    await this.#table.fitness.wait(timeoutMs, signal);
    signal?.throwIfAborted();
    this.#table.fitness.demand(election);
    return report;
  }

  /**
   * Returns the occurrences of an election's schedule, in the same table, each an item of its own beside the lease. DynamoDB
   * deletes them, days late at times, where the table's TTL is enabled on the attribute `expiresAt`, which no lease
   * has; else they are kept.
   *
   * @throws {ConfigurationError} for an election or a duration that is none.
   */
  occurrences(election: string, { retentionMs }: OccurrenceOptions): DynamoDBOccurrenceStore {
    checkName("election", election);
    duration("retentionMs", retentionMs);
    return new DynamoDBOccurrenceStore(this.#table, election, retentionMs);
  }

  /**
   * Returns the entry that makes a transaction depend on this leadership: put it into the `TransactItems` of a
   * `TransactWriteCommand`.
   * DynamoDB cancels the transaction with the reason `ConditionalCheckFailed` once the lease was vacated, broken or
   * taken, whatever this process believes. The reason `TransactionConflict` only means that a renewal, or another
   * fenced transaction, was under way: send the transaction again.
   *
   * @throws {UnsupportedError} on a table with multi-region strong consistency, where DynamoDB has no transactions.
   */
  fence(leadership: Fenced): DynamoDBFence {
    return fenceOn(this.#table, leaseKey(leadership.election), leadership);
  }

  /**
   * Creates the table, unless it exists, and waits until it can be used. For development and tests: in production the
   * table belongs to your infrastructure's code, with deletion protection, and candidates may not create any.
   *
   * @throws {StoreError} whatever goes wrong.
   */
  async createTable(): Promise<void> {
    try {
      await createLeaseTable(this.#client as DynamoDBClient, this.#table.name);
    } catch (error) {
      throw toStoreError(error, "create-table", undefined, true);
    }
  }
}

async function createLeaseTable(client: DynamoDBClient, TableName: string): Promise<void> {
  const keys = [
    { AttributeName: PARTITION_KEY, KeyType: "HASH" },
    { AttributeName: SORT_KEY, KeyType: "RANGE" },
  ] as const;
  const creation = new CreateTableCommand({
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: keys.map(({ AttributeName }) => ({ AttributeName, AttributeType: "S" })),
    KeySchema: [...keys],
  });
  await client.send(creation).catch((error: unknown) => {
    // By its name: two copies of the SDK may be installed.
    if ((error as Error).name !== "ResourceInUseException") throw error;
  });
  await waitUntilTableExists({ client, maxWaitTime: 120, minDelay: 1, maxDelay: 2 }, { TableName });
}

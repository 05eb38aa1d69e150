import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import {
  systemClock,
  type OccurrenceOptions,
  checkName,
  checkOptions,
  DEFAULT_REQUEST_TIMEOUT_MS,
  duration,
  RecordLeaseStore,
  type Fenced,
  type CheckOptions,
  type CheckReport,
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
 * Leases in items of a DynamoDB table: one for each election, and one for each occurrence. It uses conditional writes, and no
 * transactions.
 *
 * Guarantees: those of {@link RecordLeaseStore}, if the table is in one region or is replicated with strong consistency. Expiry
 * by `store-clock` uses bounds of DynamoDB's own clock, from the `Date` headers of its replies. It assumes that the clocks of
 * DynamoDB's machines agree within a second.
 *
 * Costs at the defaults: a leader sends 720 writes an hour, a standby about 2,300 eventually consistent reads.
 */
export class DynamoDBLeaseStore extends RecordLeaseStore {
  readonly #client: AnyDynamoDBClient;
  readonly #table: LeaseTable;

  /** Sends nothing. @throws {ConfigurationError} for options that cannot work. */
  constructor(options: DynamoDBLeaseStoreOptions) {
    checkOptions("DynamoDBLeaseStore", options, OPTIONS);
    const { tableName, client = new DynamoDBClient({}), clock = systemClock } = options;
    checkTableName(tableName);
    const table = new LeaseTable(client, tableName, clock);
    super(new DynamoDBRecordStore(table, { keyOf: leaseKey }), { clock });
    this.#client = client;
    this.#table = table;
  }

  /**
   * Also waits for the control plane's answer about the table, at most for the time of one request. The times in the report
   * exclude this wait.
   */
  override async check(options: CheckOptions): Promise<CheckReport> {
    const report = await super.check(options);
    const { election, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
    await this.#table.fitness.wait(timeoutMs, signal);
    signal?.throwIfAborted();
    this.#table.fitness.assertUsable(election);
    return report;
  }

  /**
   * Returns the occurrences of an election's schedule. Each is an item of its own in the same table, in the election's partition.
   * DynamoDB deletes them, sometimes days late, if the table's TTL is enabled on the attribute `expiresAt`. Otherwise they are
   * kept. Leases do not have that attribute.
   *
   * @throws {ConfigurationError} for an invalid election or duration.
   */
  occurrences(election: string, { retentionMs }: OccurrenceOptions): DynamoDBOccurrenceStore {
    checkName("election", election);
    duration("retentionMs", retentionMs);
    return new DynamoDBOccurrenceStore(this.#table, election, retentionMs);
  }

  /**
   * Returns the entry that makes a transaction depend on this leadership. Put it into the `TransactItems` of a
   * `TransactWriteCommand`.
   *
   * DynamoDB cancels the transaction with the reason `ConditionalCheckFailed` once the lease was vacated, broken or taken. It
   * does so even if this process does not know it yet. The reason `TransactionConflict` means only that a renewal, or another
   * fenced transaction, was under way. Send the transaction again then.
   *
   * @throws {UnsupportedError} on a table with multi-region strong consistency, where DynamoDB has no transactions.
   */
  fence(leadership: Fenced): DynamoDBFence {
    return fenceOn(this.#table, leaseKey(leadership.election), leadership);
  }

  /**
   * Creates the table, unless it exists, and waits until it is usable. This is for development and tests. In production, create
   * the table with your infrastructure's code and with deletion protection, and do not let candidates create tables.
   *
   * @throws {StoreError} for every failure.
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
    // Compares the name, because two copies of the SDK may be installed.
    if ((error as Error).name !== "ResourceInUseException") throw error;
  });
  await waitUntilTableExists({ client, maxWaitTime: 120, minDelay: 1, maxDelay: 2 }, { TableName });
}

import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import type { TransactWriteCommandInput } from "@aws-sdk/lib-dynamodb";
import {
  ConfigurationError,
  RecordLeaseStore,
  systemClock,
  UnsupportedError,
  type Leadership,
  type RecordLeaseStoreOptions,
} from "@leasehold/core";
import { DynamoDBRecordStore } from "./dynamodb-record-store.ts";
import { KEY } from "./item.ts";
import type { AnyDynamoDBClient } from "./one-request.ts";

export interface DynamoDBLeaseStoreOptions extends RecordLeaseStoreOptions {
  /** The table: its partition key is the string `election`, and it has no sort key. */
  readonly tableName: string;
  /**
   * Yours, used as it is, but for its retries: those of lease calls are off, without a change to the client.
   * @defaultValue a new one, with the region and the credentials that the SDK finds by itself
   */
  readonly client?: AnyDynamoDBClient | undefined;
}

/** An entry of `TransactItems` that lets the transaction pass only while this leadership has not ended. */
export type DynamoDBFence = NonNullable<TransactWriteCommandInput["TransactItems"]>[number] & {
  readonly ConditionCheck: object;
};

/**
 * Leases on items of a DynamoDB table, one item per election: conditional writes, and no transaction.
 *
 * Guarantees: as {@link RecordLeaseStore}, where the table is in one region or replicated with strong consistency.
 * `store-clock` expiry judges by bounds of DynamoDB's own clock, taken from the `Date` headers of its replies, and
 * assumes that the clocks of its machines agree within a second.
 *
 * Costs at the defaults: a leader 720 writes an hour, a standby about 2,300 eventually consistent reads.
 */
export class DynamoDBLeaseStore extends RecordLeaseStore {
  readonly #records: DynamoDBRecordStore;
  readonly #client: AnyDynamoDBClient;
  readonly #tableName: string;

  /** @throws {ConfigurationError} for options that cannot work, before any request. */
  constructor(options: DynamoDBLeaseStoreOptions) {
    const { tableName, client = new DynamoDBClient({}), clock = systemClock } = (options ?? {}) as DynamoDBLeaseStoreOptions;
    checkTableName(tableName);
    const records = new DynamoDBRecordStore(client, tableName, clock);
    super(records, { clock });
    this.#records = records;
    this.#client = client;
    this.#tableName = tableName;
  }

  /**
   * What makes a transaction depend on this leadership: put it into the `TransactItems` of a `TransactWriteCommand`.
   * DynamoDB cancels the transaction with the reason `ConditionalCheckFailed` once the lease was vacated, broken or
   * taken, whatever this process believes. The reason `TransactionConflict` only means that a renewal was under way:
   * send the transaction again.
   *
   * @throws {UnsupportedError} on a table with multi-region strong consistency, where DynamoDB has no transactions.
   */
  fence(leadership: Pick<Leadership, "election" | "term" | "termId">): DynamoDBFence {
    const { election, term, termId } = leadership;
    if (this.#records.table.strongReplicas) {
      throw new UnsupportedError(
        `The table '${this.#tableName}' is replicated with strong consistency, and DynamoDB has no transactions there: a write cannot be fenced.`,
        { election },
      );
    }
    return {
      ConditionCheck: {
        TableName: this.#tableName,
        Key: { [KEY]: election },
        ConditionExpression: "#term = :term AND #termId = :termId AND attribute_not_exists(#broken)",
        ExpressionAttributeNames: { "#term": "term", "#termId": "termId", "#broken": "broken" },
        ExpressionAttributeValues: { ":term": term, ":termId": termId },
      },
    };
  }

  /**
   * Creates the table, unless it exists, and waits until it can be used. For development and tests: in production the
   * table belongs to your infrastructure's code, with deletion protection, and candidates may not create any.
   */
  async createTable(): Promise<void> {
    const client = this.#client as DynamoDBClient;
    try {
      await client.send(
        new CreateTableCommand({
          TableName: this.#tableName,
          BillingMode: "PAY_PER_REQUEST",
          AttributeDefinitions: [{ AttributeName: KEY, AttributeType: "S" }],
          KeySchema: [{ AttributeName: KEY, KeyType: "HASH" }],
        }),
      );
    } catch (error) {
      // By its name: two copies of the SDK may be installed.
      if ((error as Error).name !== "ResourceInUseException") throw error;
    }
    await waitUntilTableExists({ client, maxWaitTime: 120, minDelay: 1, maxDelay: 2 }, { TableName: this.#tableName });
  }
}

function checkTableName(tableName: unknown): void {
  // A name, or an ARN of another account's table. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
  if (typeof tableName === "string" && /^([\w.-]{3,255}|arn:[^:]+:dynamodb:[^:]+:\d{12}:table\/[\w.-]{3,255})$/.test(tableName))
    return;
  throw new ConfigurationError(
    `tableName is ${JSON.stringify(tableName) ?? "missing"}; it must have 3 to 255 letters, digits, dots, hyphens and underscores, or be a table's ARN.`,
  );
}

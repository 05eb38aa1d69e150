import { ConfigurationError } from "@leasehold/core";
import type { RecordLeaseStoreOptions } from "@leasehold/core/provider";
import type { AnyDynamoDBClient } from "./requests.ts";

export interface DynamoDBLeaseStoreOptions extends RecordLeaseStoreOptions {
  /** The name or the ARN of the table. The partition key is the string `election`, the sort key the string `entry`. */
  readonly tableName: string;
  /**
   * Your client. The store does not change it. The SDK's retries are off for lease calls only.
   * @defaultValue a new client, with the region and the credentials that the SDK finds
   */
  readonly client?: AnyDynamoDBClient | undefined;
}

/** The names of all options. */
export const OPTIONS: Readonly<Record<keyof DynamoDBLeaseStoreOptions, true>> = { tableName: true, client: true, clock: true };

/** @throws {ConfigurationError} unless DynamoDB accepts the text as the name or the ARN of a table. */
export function checkTableName(tableName: unknown): void {
  // A name, or an ARN of another account's table.
  // https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
  if (typeof tableName === "string" && /^([\w.-]{3,255}|arn:[^:]+:dynamodb:[^:]+:\d{12}:table\/[\w.-]{3,255})$/.test(tableName))
    return;
  throw new ConfigurationError(
    `tableName is ${JSON.stringify(tableName) ?? "missing"}; it must have 3 to 255 letters, digits, dots, hyphens and underscores, or be a table's ARN.`,
  );
}

import { ConfigurationError } from "@leasehold/core";
import type { RecordLeaseStoreOptions } from "@leasehold/core/provider";
import type { AnyDynamoDBClient } from "./requests.ts";

export interface DynamoDBLeaseStoreOptions extends RecordLeaseStoreOptions {
  /** The table: its partition key is the string `election`, its sort key the string `entry`. */
  readonly tableName: string;
  /**
   * Yours, used as it is, but for its retries: those of lease calls are off, without a change to the client.
   * @defaultValue a new one, with the region and the credentials that the SDK finds by itself
   */
  readonly client?: AnyDynamoDBClient | undefined;
}

/** Each option, by name. */
export const OPTIONS: Readonly<Record<keyof DynamoDBLeaseStoreOptions, true>> = { tableName: true, client: true, clock: true };

/** @throws {ConfigurationError} unless DynamoDB would take it as the name or the ARN of a table. */
export function checkTableName(tableName: unknown): void {
  // A name, or an ARN of another account's table. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
  if (typeof tableName === "string" && /^([\w.-]{3,255}|arn:[^:]+:dynamodb:[^:]+:\d{12}:table\/[\w.-]{3,255})$/.test(tableName))
    return;
  throw new ConfigurationError(
    `tableName is ${JSON.stringify(tableName) ?? "missing"}; it must have 3 to 255 letters, digits, dots, hyphens and underscores, or be a table's ARN.`,
  );
}

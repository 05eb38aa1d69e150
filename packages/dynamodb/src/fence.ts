import type { TransactWriteCommandInput } from "@aws-sdk/lib-dynamodb";
import { UnsupportedError } from "@leasehold/core";
import type { Fenced } from "@leasehold/core/provider";
import type { ItemKey } from "./schema.ts";
import type { LeaseTable } from "./lease-table.ts";

/** An entry of `TransactItems` that lets the transaction succeed only until this leadership ends. */
export type DynamoDBFence = NonNullable<TransactWriteCommandInput["TransactItems"]>[number] & {
  readonly ConditionCheck: object;
};

/** @throws {UnsupportedError} on a table with multi-region strong consistency, where DynamoDB has no transactions. */
export function fenceOn(table: LeaseTable, key: ItemKey, { election, term, termId }: Fenced): DynamoDBFence {
  if (table.fitness.strongReplicas) {
    throw new UnsupportedError(
      `The table '${table.name}' is replicated with strong consistency, and DynamoDB has no transactions there: a write cannot be fenced.`,
      { election },
    );
  }
  return {
    ConditionCheck: {
      TableName: table.name,
      Key: key,
      ConditionExpression: "#term = :term AND #termId = :termId AND attribute_not_exists(#broken)",
      ExpressionAttributeNames: { "#term": "term", "#termId": "termId", "#broken": "broken" },
      ExpressionAttributeValues: { ":term": term, ":termId": termId },
    },
  };
}

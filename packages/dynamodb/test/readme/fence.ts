import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { TransactWriteCommand, type DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import type { Leadership } from "@leasehold/core";
import type { DynamoDBLeaseStore } from "@leasehold/dynamodb";

/** Writes as the leader, or throws; it never writes as one that another has replaced. */
export async function saveTotal(
  documents: DynamoDBDocumentClient,
  store: DynamoDBLeaseStore,
  leadership: Leadership,
  total: number,
): Promise<void> {
  const Put = { TableName: "invoices", Item: { id: "total", total } };
  for (let tries = 1; ; tries += 1) {
    try {
      await documents.send(new TransactWriteCommand({ TransactItems: [store.fence(leadership), { Put }] }));
      return;
    } catch (error) {
      // The first reason is the fence's: TransactionConflict means that a renewal or another fenced transaction was under
      // way, ConditionalCheckFailed that somebody else leads by now.
      const met = error instanceof TransactionCanceledException && error.CancellationReasons?.[0]?.Code === "TransactionConflict";
      if (!met || tries === 5) throw error;
    }
  }
}

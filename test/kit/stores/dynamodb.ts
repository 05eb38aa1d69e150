import { setTimeout as delay } from "node:timers/promises";
import { CreateTableCommand, DynamoDBClient, TransactionCanceledException, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand, TransactWriteCommand, type TransactWriteCommandInput } from "@aws-sdk/lib-dynamodb";
import type { Leadership } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { motoMissing, startMoto } from "../backends/moto.ts";
import type { GuardedDocument, TestStore } from "./test-store.ts";

const LEASES = "leases";
const DOCUMENTS = "documents";
type PutItem = NonNullable<NonNullable<TransactWriteCommandInput["TransactItems"]>[number]["Put"]>;

/** The wait before a transaction that met a renewal is sent again. */
const CONFLICT_MS = 20;

/** DynamoDB, on moto, because the fence is part of a transaction, which dynalite does not implement. */
export const dynamodb: TestStore = {
  title: "DynamoDB",
  leaseDurationMs: 2_000,

  missing: () => motoMissing(),

  async start() {
    const moto = await startMoto();
    await makeLeases(moto.url);
    const client = clientOf(moto.url);
    await createDocuments(client);
    client.destroy();
    return {
      settings: { store: "dynamodb", url: moto.url },
      place: `moto, in memory, ${moto.url}`,
      pause: () => moto.pause(),
      resume: () => moto.resume(),
      [Symbol.asyncDispose]: () => moto.stop(),
    };
  },

  open({ url = "" }) {
    const client = clientOf(url);
    const store = new DynamoDBLeaseStore({ client, tableName: LEASES });
    return Promise.resolve({
      store,
      document: (name) => documentIn(client, store, name),
      // The fence is the first item of each transaction.
      isRefusal: (error) => reasonsOf(error)[0] === "ConditionalCheckFailed",
      close: () => Promise.resolve(client.destroy()),
    });
  },
};

/** Creates the table of the leases, unless it exists. */
export async function makeLeases(url: string): Promise<void> {
  const client = clientOf(url);
  await new DynamoDBLeaseStore({ client, tableName: LEASES }).createTable();
  client.destroy();
}

function documentIn(client: DynamoDBClient, store: DynamoDBLeaseStore, name: string): GuardedDocument {
  const documents = DynamoDBDocumentClient.from(client);
  const read = async (): Promise<string | undefined> => {
    const { Item } = await documents.send(new GetCommand({ TableName: DOCUMENTS, Key: { name }, ConsistentRead: true }));
    return Item?.["content"] as string | undefined;
  };
  const send = async (leadership: Leadership, put: object): Promise<void> => {
    for (;;) {
      try {
        const items = [store.fence(leadership), { Put: { TableName: DOCUMENTS, ...put } as PutItem }];
        await documents.send(new TransactWriteCommand({ TransactItems: items }));
        return;
      } catch (error) {
        const reasons = reasonsOf(error);
        if (reasons.includes("ConditionalCheckFailed") || !reasons.includes("TransactionConflict")) throw error;
      }
      await delay(CONFLICT_MS);
    }
  };
  return {
    read: async () => (await read()) ?? "",
    update: async (leadership, change) => {
      const before = await read();
      const unchanged =
        before === undefined
          ? { ConditionExpression: "attribute_not_exists(content)" }
          : { ConditionExpression: "content = :before", ExpressionAttributeValues: { ":before": before } };
      await send(leadership, { Item: { name, content: change(before ?? "") }, ...unchanged });
    },
    write: (leadership, content) => send(leadership, { Item: { name, content } }),
  };
}

/** Returns why a transaction was cancelled, if the error says that. */
function reasonsOf(error: unknown): readonly string[] {
  if (!(error instanceof TransactionCanceledException)) return [];
  return error.CancellationReasons?.map(({ Code = "" }) => Code) ?? [];
}

function clientOf(endpoint: string): DynamoDBClient {
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  return new DynamoDBClient({ endpoint, region: "eu-central-1", credentials });
}

async function createDocuments(client: DynamoDBClient): Promise<void> {
  await client.send(
    new CreateTableCommand({
      TableName: DOCUMENTS,
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [{ AttributeName: "name", AttributeType: "S" }],
      KeySchema: [{ AttributeName: "name", KeyType: "HASH" }],
    }),
  );
  await waitUntilTableExists({ client, maxWaitTime: 30, minDelay: 1, maxDelay: 1 }, { TableName: DOCUMENTS });
}

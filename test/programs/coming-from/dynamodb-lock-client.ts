import { promisify } from "node:util";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import DynamoDB from "aws-sdk/clients/dynamodb.js";
import endOfSupport from "aws-sdk/lib/maintenance_mode_message.js";
import { FailOpen, type Lock } from "dynamodb-lock-client";
import { LEASE_MS, leadOn, type Rivals } from "./candidate.ts";

const REGION = "eu-central-1";
const CREDENTIALS = { accessKeyId: "any", secretAccessKey: "any" };
const THEIR_TABLE = { lockTable: "locks", partitionKey: "id" };
const OUR_TABLE = "leases";

// Otherwise its SDK would warn that it is no longer supported.
Object.assign(endOfSupport, { suppress: true });

export const rivals: Rivals = {
  async theirs(url) {
    const dynamodb = new DynamoDB.DocumentClient({ endpoint: url, region: REGION, ...CREDENTIALS });
    const locks = new FailOpen({
      dynamodb,
      ...THEIR_TABLE,
      heartbeatPeriodMs: LEASE_MS / 3,
      leaseDurationMs: LEASE_MS,
      retryCount: 100,
    });
    const lock = await promisify((done: (error: Error | undefined, lock: Lock) => void) => locks.acquireLock("billing", done))();
    let leads = true;
    lock.on("error", () => {
      leads = false;
    });
    return { leads: () => leads, close: async () => await promisify(lock.release.bind(lock))() };
  },
  async ours(url) {
    const client = clientOf(url);
    return await leadOn(new DynamoDBLeaseStore({ client, tableName: OUR_TABLE }), () => client.destroy());
  },
};

/** Creates the table of each. */
export async function createTables(url: string): Promise<void> {
  const client = clientOf(url);
  await new DynamoDBLeaseStore({ client, tableName: OUR_TABLE }).createTable();
  const key = THEIR_TABLE.partitionKey;
  await client.send(
    new CreateTableCommand({
      TableName: THEIR_TABLE.lockTable,
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [{ AttributeName: key, AttributeType: "S" }],
      KeySchema: [{ AttributeName: key, KeyType: "HASH" }],
    }),
  );
  client.destroy();
}

function clientOf(url: string): DynamoDBClient {
  return new DynamoDBClient({ endpoint: url, region: REGION, credentials: CREDENTIALS });
}

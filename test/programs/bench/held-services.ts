import { CreateTableCommand, DynamoDBClient, PutItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { BlobServiceClient } from "@azure/storage-blob";
import { azuriteConnectionString } from "@leasehold/test-kit/backends/azurite";

/** A service that holds many leases, without Leasehold. */
export interface HeldService {
  /** Makes the table or container of the leases. */
  prepare(): Promise<void>;
  /** Makes a lease by the SDK alone. Returns a function that sends one renewal of it. */
  bareLease(name: string): Promise<() => Promise<unknown>>;
}

export type HeldServiceName = "DynamoDB" | "Azure";

const TABLE = "held";
const CONTAINER = "held";
const LEASE_S = 15;

export const heldServices: Readonly<Record<HeldServiceName, (url: string) => HeldService>> = {
  DynamoDB(url) {
    const credentials = { accessKeyId: "any", secretAccessKey: "any" };
    const client = new DynamoDBClient({ endpoint: url, region: "eu-central-1", credentials });
    return {
      async prepare() {
        const keys = [
          ["election", "HASH"],
          ["entry", "RANGE"],
        ] as const;
        await client.send(
          new CreateTableCommand({
            TableName: TABLE,
            BillingMode: "PAY_PER_REQUEST",
            AttributeDefinitions: keys.map(([AttributeName]) => ({ AttributeName, AttributeType: "S" })),
            KeySchema: keys.map(([AttributeName, KeyType]) => ({ AttributeName, KeyType })),
          }),
        );
      },
      async bareLease(name) {
        const Key = { election: { S: name }, entry: { S: "lease" } };
        let version = crypto.randomUUID() as string;
        await client.send(new PutItemCommand({ TableName: TABLE, Item: { ...Key, version: { S: version } } }));
        return async () => {
          const next = crypto.randomUUID();
          await client.send(new UpdateItemCommand({ TableName: TABLE, Key, ...bareUpdate(name, next, version) }));
          version = next;
        };
      },
    };
  },
  Azure(url) {
    const container = BlobServiceClient.fromConnectionString(azuriteConnectionString(url)).getContainerClient(CONTAINER);
    return {
      prepare: async () => void (await container.create()),
      async bareLease(name) {
        const blob = container.getBlockBlobClient(name);
        await blob.upload("", 0);
        const lease = blob.getBlobLeaseClient();
        await lease.acquireLease(LEASE_S);
        return () => lease.renewLease();
      },
    };
  },
};

/** Returns the same update as a renewal of the store, attribute by attribute: conditional on the version, with a new nonce. */
function bareUpdate(name: string, version: string, ifVersion: string) {
  const nowMs = Date.now();
  const set = {
    schema: { N: "1" },
    term: { N: "1" },
    termId: { S: name },
    candidateId: { S: "bench" },
    nonce: { S: crypto.randomUUID() },
    leaseDurationMs: { N: "15000" },
    renewIntervalMs: { N: "5000" },
    version: { S: version },
    nonceNotBefore: { N: String(nowMs - 1_000) },
    nonceNotAfter: { N: String(nowMs + 1_000) },
    nonceWallMs: { N: String(nowMs) },
  };
  const remove = ["value", "broken", "transfer", "holdMs", "reservation", "done", "quorum"];
  const names = Object.keys(set);
  return {
    UpdateExpression: `SET ${names.map((each) => `#${each} = :${each}`).join(", ")} REMOVE ${remove.map((each) => `#${each}`).join(", ")}`,
    ConditionExpression: "#version = :ifVersion",
    ExpressionAttributeNames: Object.fromEntries([...names, ...remove].map((each) => [`#${each}`, each])),
    ExpressionAttributeValues: {
      ...Object.fromEntries(Object.entries(set).map(([each, value]) => [`:${each}`, value])),
      ":ifVersion": { S: ifVersion },
    },
    ReturnValuesOnConditionCheckFailure: "ALL_OLD" as const,
  };
}

import { CreateTableCommand, DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { startDynalite } from "@leasehold/test-kit/backends/dynalite";
import { containerClient } from "@leasehold/test-kit/backends/fresh-container";
import { redisMissing, startRedis } from "@leasehold/test-kit/backends/redis";
import { testStore } from "@leasehold/test-kit/stores/stores";
import { Redis } from "ioredis";
import { Client } from "pg";
import { LOCK_KEY, LOCK_TABLE } from "./lock-table.ts";
import { dataFrames, httpRequests, postgresQueries, redisCommands } from "./requests-on-the-wire.ts";

/** A service on this machine. Disposing of it ends it. */
export interface RunningService extends AsyncDisposable {
  readonly port: number;
}

/** One conditional write by the service's own client, and nothing else. */
export interface BareWriter extends AsyncDisposable {
  write(): Promise<void>;
}

export interface Service {
  /** Returns why it cannot be started on this machine, and what to install; `undefined` if it can. */
  readonly missing: () => Promise<string | undefined>;
  readonly start: () => Promise<RunningService>;
  /** Returns how many requests begin in a piece of data from a client. */
  readonly requestsIn: (bytes: Buffer) => number;
  readonly writer: (host: string) => Promise<BareWriter>;
}

export type ServiceName = "dynamodb" | "azure" | "postgres" | "etcd" | "redis";

export const SERVICES: Readonly<Record<ServiceName, Service>> = {
  dynamodb: {
    missing: () => Promise.resolve(undefined),
    async start() {
      // Not moto: nothing here needs its transactions.
      const dynalite = await startDynalite();
      const client = dynamoDbAt(new URL(dynalite.url).host);
      await new DynamoDBLeaseStore({ client, tableName: "leases" }).createTable();
      await client.send(
        new CreateTableCommand({
          TableName: LOCK_TABLE,
          BillingMode: "PAY_PER_REQUEST",
          AttributeDefinitions: [{ AttributeName: LOCK_KEY, AttributeType: "S" }],
          KeySchema: [{ AttributeName: LOCK_KEY, KeyType: "HASH" }],
        }),
      );
      client.destroy();
      return Object.assign(dynalite, { port: portOf(dynalite.url) });
    },
    requestsIn: httpRequests,
    writer(host) {
      const client = dynamoDbAt(host);
      const command = new UpdateItemCommand({
        TableName: LOCK_TABLE,
        Key: { [LOCK_KEY]: { S: "bare" } },
        UpdateExpression: "SET written = :now",
        ConditionExpression: "attribute_not_exists(nobody)",
        ExpressionAttributeValues: { ":now": { S: "now" } },
      });
      return Promise.resolve(
        writer(
          () => client.send(command),
          () => client.destroy(),
        ),
      );
    },
  },
  azure: {
    ...started("azure"),
    requestsIn: httpRequests,
    async writer(host) {
      const container = containerClient(`http://${host}`, "bare");
      await container.createIfNotExists();
      const blob = container.getBlockBlobClient("bare");
      await blob.upload("", 0);
      return writer(
        () => blob.setMetadata({ written: "now" }, { conditions: { ifMatch: "*" } }),
        () => undefined,
      );
    },
  },
  postgres: {
    ...started("postgres"),
    requestsIn: postgresQueries,
    async writer(host) {
      const client = new Client(`postgresql://postgres@${host}/postgres`);
      await client.connect();
      await client.query("CREATE TABLE IF NOT EXISTS bare (name text PRIMARY KEY, written text)");
      await client.query("INSERT INTO bare VALUES ('bare', '') ON CONFLICT DO NOTHING");
      const update = "UPDATE bare SET written = $1 WHERE name = 'bare' AND written <> $2";
      return writer(
        () => client.query(update, ["now", "never"]),
        () => client.end(),
      );
    },
  },
  etcd: {
    ...started("etcd"),
    // Its gateway speaks HTTP. Its own protocol is gRPC.
    requestsIn: (bytes) => httpRequests(bytes) || dataFrames(bytes),
    writer(host) {
      const key = Buffer.from("bare").toString("base64");
      const compare = [{ key, target: "VERSION", result: "GREATER", version: "-1" }];
      const body = JSON.stringify({ compare, success: [{ request_put: { key, value: key } }] });
      const write = async (): Promise<unknown> => (await fetch(`http://${host}/v3/kv/txn`, { method: "POST", body })).json();
      return Promise.resolve(writer(write, () => undefined));
    },
  },
  redis: {
    missing: redisMissing,
    start: startRedis,
    requestsIn: redisCommands,
    writer(host) {
      const redis = new Redis(`redis://${host}`);
      return Promise.resolve(
        writer(
          () => redis.set("bare", "now", "XX"),
          () => redis.disconnect(),
        ),
      );
    },
  },
};

function writer(write: () => Promise<unknown>, close: () => unknown): BareWriter {
  return {
    async write() {
      await write();
    },
    async [Symbol.asyncDispose]() {
      await close();
    },
  };
}

/** Returns a service that the kit starts. */
function started(name: "azure" | "postgres" | "etcd"): Pick<Service, "missing" | "start"> {
  return {
    missing: async () => await (await testStore(name)).missing(),
    async start() {
      const service = await (await testStore(name)).start();
      return Object.assign(service, { port: portOf(service.settings["url"]!) });
    },
  };
}

function dynamoDbAt(host: string): DynamoDBClient {
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  return new DynamoDBClient({ endpoint: `http://${host}`, region: "eu-central-1", credentials });
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

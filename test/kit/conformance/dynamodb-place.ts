import { randomUUID } from "node:crypto";
import {
  CreateTableCommand,
  DeleteItemCommand,
  DescribeTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  TransactionCanceledException,
  type AttributeValue,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import type { GuardedText, TestEnvironment, UnreliableConnection } from "@leasehold/conformance";
import type { Clock } from "@leasehold/core/provider";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { startFaultProxy, type FaultProxy } from "../faults/fault-proxy.ts";
import type { ReceivedRequest } from "../faults/request-log.ts";
import type { ServiceProcess } from "../backends/service-process.ts";
import { HttpFaults } from "./http-faults.ts";
import { MovedTime, type StoreOptions } from "./moved-time.ts";
import { warmUp } from "./warm-up.ts";

/** The attributes of items that are not leases of this version. */
export const FOREIGN_ITEMS: Readonly<Record<"foreign" | "newer-schema", Record<string, AttributeValue>>> = {
  foreign: { owner: { S: "somebody" }, note: { S: "do not touch" }, version: { N: "3" } },
  "newer-schema": { schema: { N: "2" }, term: { N: "7" }, version: { S: "later" } },
};

/** An emulator of DynamoDB with a proxy in front of it. */
export interface DynamoDB extends AsyncDisposable {
  readonly service: ServiceProcess;
  readonly proxy: FaultProxy;
  /** True if it implements transactions; dynalite does not. */
  readonly transacts: boolean;
}

/** Starts the proxy in front of a service that was just started. */
export async function withProxy(service: ServiceProcess, { transacts }: Pick<DynamoDB, "transacts">): Promise<DynamoDB> {
  const proxy = await startFaultProxy(service.url, { nameOf: operationOf });
  return {
    service,
    proxy,
    transacts,
    async [Symbol.asyncDispose]() {
      await proxy.stop();
      await service.stop();
    },
  };
}

/** A place with its own table, and the time of the service. */
export class DynamoDBPlace implements TestEnvironment {
  readonly #dynamoDb: DynamoDB;
  readonly #time: MovedTime;
  readonly #tableName = `leases-${randomUUID()}`;
  /** A client that does not use the proxy. */
  readonly #direct: DynamoDBClient;
  readonly #clients: DynamoDBClient[] = [];
  readonly #faults: HttpFaults;
  readonly guard?: () => Promise<GuardedText>;

  private constructor(dynamoDb: DynamoDB) {
    this.#dynamoDb = dynamoDb;
    this.#faults = new HttpFaults(dynamoDb.proxy);
    this.#time = new MovedTime(dynamoDb.service);
    this.#direct = this.#client(dynamoDb.service.url);
    if (dynamoDb.transacts) this.guard = () => this.#guard();
  }

  static async open(dynamoDb: DynamoDB): Promise<DynamoDBPlace> {
    const place = new DynamoDBPlace(dynamoDb);
    await makeTable(place.#direct, place.#tableName);
    return place;
  }

  get clock(): Clock {
    return this.#time.clock;
  }

  async connect(): Promise<DynamoDBLeaseStore> {
    return await this.connectWith(this.clock);
  }

  async connectWith(clock: Clock): Promise<DynamoDBLeaseStore> {
    return this.#store(this.#dynamoDb.service.url, { clock });
  }

  async pass(ms: number): Promise<void> {
    await this.#time.pass(ms);
  }

  async connectUnreliably(): Promise<UnreliableConnection> {
    const faults = this.#faults;
    const store = this.connectThroughProxy({ farthest: () => faults.farthest });
    // After this the store has checked the table.
    await warmUp(store);
    return { store, faults };
  }

  /** Returns the store of one more process, whose requests the proxy records. */
  connectThroughProxy(options?: StoreOptions): DynamoDBLeaseStore {
    return this.#store(this.#dynamoDb.proxy.url, options);
  }

  async writeRaw(election: string, what: "foreign" | "newer-schema"): Promise<void> {
    const Item = { ...keyOf(election), ...FOREIGN_ITEMS[what] };
    await this.#direct.send(new PutItemCommand({ TableName: this.#tableName, Item }));
  }

  async readRaw(election: string): Promise<unknown> {
    return await this.#itemOf(election);
  }

  async remove(election: string): Promise<void> {
    await this.#direct.send(new DeleteItemCommand({ TableName: this.#tableName, Key: keyOf(election) }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#dynamoDb.proxy.rule = undefined;
    this.#dynamoDb.proxy.clear();
    this.#time.stop();
    for (const client of this.#clients) client.destroy();
    await this.#dynamoDb.service.advance(0);
  }

  /** Returns a text in an item of the lease table, under its own key. */
  async #guard(): Promise<GuardedText> {
    const documents = DynamoDBDocumentClient.from(this.#direct);
    const leases = await this.connect();
    const key = { election: `guarded-${randomUUID()}`, entry: "lease" };
    return {
      read: async () => (await this.#itemOf(key.election))?.["text"]?.S ?? "",
      write: async (leadership, text) => {
        const put = { Put: { TableName: this.#tableName, Item: { ...key, text } } };
        for (;;) {
          try {
            await documents.send(new TransactWriteCommand({ TransactItems: [leases.fence(leadership), put] }));
            return true;
          } catch (error) {
            const reasons = error instanceof TransactionCanceledException ? (error.CancellationReasons ?? []) : [];
            if (reasons.some(({ Code }) => Code === "ConditionalCheckFailed")) return false;
            // A transaction that met a renewal is sent again.
            if (reasons.every(({ Code }) => Code !== "TransactionConflict")) throw error;
          }
        }
      },
    };
  }

  async #itemOf(election: string): Promise<Record<string, AttributeValue> | undefined> {
    const command = new GetItemCommand({ TableName: this.#tableName, Key: keyOf(election), ConsistentRead: true });
    return (await this.#direct.send(command)).Item;
  }

  #store(endpoint: string, options?: StoreOptions): DynamoDBLeaseStore {
    const client = this.#client(endpoint);
    return this.#time.store((clock) => new DynamoDBLeaseStore({ client, tableName: this.#tableName, clock }), options);
  }

  #client(endpoint: string): DynamoDBClient {
    const credentials = { accessKeyId: "any", secretAccessKey: "any" };
    const client = new DynamoDBClient({ endpoint, region: "eu-central-1", credentials });
    this.#clients.push(client);
    return client;
  }
}

/** Creates a table that can be used at once. The store's own way waits for a whole second if the table is not ready. */
export async function makeTable(client: DynamoDBClient, TableName: string, keys = ["election", "entry"]): Promise<void> {
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: keys.map((AttributeName, index) => ({ AttributeName, KeyType: index === 0 ? "HASH" : "RANGE" })),
      AttributeDefinitions: keys.map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
    }),
  );
  for (;;) {
    const { Table } = await client.send(new DescribeTableCommand({ TableName }));
    if (Table?.TableStatus === "ACTIVE") return;
  }
}

/** Returns the name of a request to DynamoDB: its operation. */
export function operationOf({ headers }: ReceivedRequest): string {
  return String(headers["x-amz-target"]).replace(/^DynamoDB_20120810\./, "");
}

function keyOf(election: string): Record<string, AttributeValue> {
  return { election: { S: election }, entry: { S: "lease" } };
}

import { DescribeTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { ConfigurationError } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { describe, expect } from "vitest";
import { ELECTION, win } from "@leasehold/test-kit/acquisitions";
import { clientOf, refusal } from "./table-world.ts";
import { test } from "./world-test.ts";

describe("options that cannot work are refused before any request:", () => {
  test.for<unknown>([
    undefined,
    null,
    "",
    "ab",
    "a".repeat(256),
    "my table",
    "tabelle-ä",
    "leases\n",
    7,
    ["leases"],
    "arn:aws:s3:::bucket",
    "arn:aws:dynamodb:eu-central-1:123:table/leases",
  ])("the table name %j", (tableName, { world }) => {
    expect(() => world.store({ tableName } as never)).toThrow(ConfigurationError);
    const given = tableName === undefined ? "missing" : JSON.stringify(tableName);
    expect(() => world.store({ tableName } as never)).toThrow(`tableName is ${given}; it must have 3 to 255`);
  });

  test("no options at all, or an unknown one", ({ world }) => {
    expect(() => new DynamoDBLeaseStore(undefined as never)).toThrow(ConfigurationError);
    expect(() => world.store({ tablename: "leases" } as never)).toThrow("DynamoDBLeaseStore has no option 'tablename'");
  });

  test("occurrences of no election, or without a retention", ({ world }) => {
    const store = world.store();
    expect(() => store.occurrences("", { retentionMs: 1 })).toThrow(/^election /u);
    expect(() => store.occurrences(ELECTION, { retentionMs: 0 })).toThrow(/^retentionMs /u);
  });

  test.for(
    Object.entries<unknown>({
      null: null,
      "a text": "http://127.0.0.1",
      "settings of a client": { region: "eu-central-1" },
      "something that sends": { send: () => undefined },
      "something with steps": { middlewareStack: { identify: () => ["retryMiddleware"] } },
      "a client of another kind": { send: () => undefined, middlewareStack: {} },
    }),
  )("a client that is %s", ([, client], { world }) => {
    expect(() => world.store({ client } as never)).toThrow(ConfigurationError);
    expect(() => world.store({ client } as never)).toThrow(/not a DynamoDBClient/);
  });

  test("a client whose retries cannot be turned off", ({ world }) => {
    const client = clientOf(world.proxy.url);
    client.middlewareStack.remove("retryMiddleware");
    expect(() => world.store({ client })).toThrow(ConfigurationError);
    expect(() => world.store({ client })).toThrow(/retries/);
  });
});

test.for(["abc", "a".repeat(255), "Leases_1.x-y", "arn:aws:dynamodb:eu-central-1:123456789012:table/leases"])(
  "the table name %s is fine",
  (tableName, { world }) => {
    expect(world.store({ tableName }).name).toBe("dynamodb");
  },
);

test("without a client it makes one", () => {
  expect(new DynamoDBLeaseStore({ tableName: "leases" }).capabilities).toEqual({
    expiry: "observed",
    watch: "poll",
    minLeaseMs: 1,
    maxLeaseMs: 2_147_483_647,
    leaseGranularityMs: 1,
    maxValueBytes: 65_536,
    fence: "atomic",
    transfer: { drain: "full" },
    repair: true,
    pause: true,
    list: true,
    fleet: true,
    storeClock: { toleranceMs: 4_000, exact: false },
    reservation: { toleranceMs: 4_000 },
  });
});

describe("createTable", () => {
  test.for(["DynamoDBClient", "DynamoDBDocumentClient"])("makes the table, once, with a %s", async (kind, { world }) => {
    const client = kind === "DynamoDBClient" ? world.client : DynamoDBDocumentClient.from(world.client);
    const tableName = `${world.tableName}-new`;
    const store = world.store({ client, tableName });
    await store.createTable();
    expect(world.proxy.requests.map(({ name }) => name)).toEqual(["CreateTable", "DescribeTable"]);
    await win(store);
    await store.createTable();

    await expect(world.store({ tableName }).read(ELECTION)).resolves.toMatchObject({ term: 1 });
    const { Table } = await world.direct.send(new DescribeTableCommand({ TableName: tableName }));
    expect(Table).toMatchObject({
      TableStatus: "ACTIVE",
      KeySchema: [
        { AttributeName: "election", KeyType: "HASH" },
        { AttributeName: "entry", KeyType: "RANGE" },
      ],
      AttributeDefinitions: [
        { AttributeName: "election", AttributeType: "S" },
        { AttributeName: "entry", AttributeType: "S" },
      ],
      BillingModeSummary: { BillingMode: "PAY_PER_REQUEST" },
    });
  });

  test("throws the service's message if it lacks the permission or fails", async ({ world }) => {
    world.proxy.rule = () => refusal(400, "AccessDeniedException");
    await expect(world.store({ tableName: "denied" }).createTable()).rejects.toMatchObject({
      code: "STORE_DENIED",
      message: expect.stringMatching(/'create-table' failed: AccessDeniedException.*dynamodb:CreateTable/),
    });
    world.proxy.rule = () => refusal(500, "InternalServerError");
    await expect(world.store({ tableName: "unknown" }).createTable()).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      mayHaveBeenApplied: true,
    });
  });

  test("accepts another copy of the SDK's error that the table exists", async ({ world }) => {
    class OtherSdk extends DynamoDBClient {
      override send(...args: never[]): never {
        const sent = (super.send as (...all: never[]) => Promise<unknown>)(...args);
        return sent.catch((error: unknown) => {
          const { message, name } = error as Error;
          throw Object.assign(new Error(message), { name });
        }) as never;
      }
    }
    const client = new OtherSdk({ ...clientOfEndpoint(world.proxy.url) });
    await expect(world.store({ client }).createTable()).resolves.toBeUndefined();
    client.destroy();
  });
});

function clientOfEndpoint(endpoint: string): ConstructorParameters<typeof DynamoDBClient>[0] {
  return { endpoint, region: "eu-central-1", credentials: { accessKeyId: "any", secretAccessKey: "any" } };
}

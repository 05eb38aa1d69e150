import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { ConditionalCheckFailedException, CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { describe, expect, test } from "vitest";
import type { ServiceProcess } from "../backends/service-process.ts";

/** A client of the DynamoDB at `endpoint` that never tries anything twice. */
export function dynamoDbClient(endpoint: string): DynamoDBClient {
  return new DynamoDBClient({
    endpoint,
    region: "eu-central-1",
    credentials: { accessKeyId: "any", secretAccessKey: "any" },
    maxAttempts: 1,
  });
}

/** A new table with the string key `id`, at `endpoint`. */
export async function freshTable(endpoint: string): Promise<string> {
  const client = dynamoDbClient(endpoint);
  const name = `table-${randomUUID()}`;
  await client.send(
    new CreateTableCommand({
      TableName: name,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
      AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
    }),
  );
  client.destroy();
  return name;
}

/**
 * Declares the tests that a DynamoDB emulator has to pass before anything that it shows is believed: several of them lose
 * updates, or let everybody win.
 */
export function describeDynamoDb(service: () => ServiceProcess): void {
  describe("its conditional writes", () => {
    test("count exactly, from 10 clients that each compare and swap 20 times", async () => {
      const record = await freshRecord(service().url);
      const counters = Array.from({ length: 10 }, async (_, index) => {
        const client = record.client();
        for (let done = 0; done < 20;) {
          if (await record.swap(client, await record.version(client))) done++;
          // Who has lost steps back a little, or else nearly everything would be lost, which takes long.
          else await delay(10 * index);
        }
      });
      await Promise.all(counters);
      await expect(record.version(record.client())).resolves.toBe(200);
    });

    test("let exactly one of 50 win who take over at once, in each of 5 rounds", async () => {
      const record = await freshRecord(service().url);
      const clients = Array.from({ length: 50 }, () => record.client());
      for (let round = 0; round < 5; round++) {
        const outcomes = await Promise.all(clients.map(async (client) => record.swap(client, round)));
        expect(outcomes.filter((won) => won)).toHaveLength(1);
        await expect(record.version(clients[0]!)).resolves.toBe(round + 1);
      }
    });

    test("let exactly one of 50 win who create at once", async () => {
      const record = await freshRecord(service().url);
      const outcomes = await Promise.all(Array.from({ length: 50 }, async () => record.create(record.client())));
      expect(outcomes.filter((won) => won)).toHaveLength(1);
    });
  });

  describe("its clock", () => {
    test("dates successes and errors, and can be moved", async () => {
      let movedMs = 0;
      for (const ms of [0, 3_600_000, -7_200_000]) {
        await service().advance(ms);
        movedMs += ms;
        const success = await dated(service().url, "ListTables", {});
        const failure = await dated(service().url, "DescribeTable", { TableName: "missing" });
        expect([success.status, failure.status]).toEqual([200, 400]);
        for (const { date } of [success, failure]) {
          // A header has whole seconds.
          expect(Math.abs(date - (Date.now() + movedMs))).toBeLessThan(5_000);
        }
      }
      await service().advance(-movedMs);
    });
  });

  describe("a pause", () => {
    test("answers nobody, and then everybody, also after some have given up", async () => {
      const record = await freshRecord(service().url);
      const client = record.client();
      await record.create(client);
      await service().pause();
      const pending = record.swap(client, 0);
      const givenUp = Array.from({ length: 10 }, async () =>
        record.version(record.client(), { signal: AbortSignal.timeout(200) }),
      );
      const outcomes = await Promise.allSettled(givenUp);
      expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["rejected"]));

      service().resume();

      await expect(pending).resolves.toBe(true);
      await expect(record.version(client)).resolves.toBe(1);
    });
  });
}

/** One item in a table of its own, whose version compare-and-swap counts up; a missing one has version 0. */
async function freshRecord(endpoint: string) {
  const TableName = await freshTable(endpoint);
  const Key = { id: "record" };
  return {
    client: () => DynamoDBDocumentClient.from(dynamoDbClient(endpoint)),
    version: async (client: DynamoDBDocumentClient, { signal }: { readonly signal?: AbortSignal } = {}): Promise<number> => {
      const { Item } = await client.send(
        new GetCommand({ TableName, Key, ConsistentRead: true }),
        signal === undefined ? {} : { abortSignal: signal },
      );
      return (Item?.["version"] as number | undefined) ?? 0;
    },
    /** It won. */
    swap: async (client: DynamoDBDocumentClient, version: number): Promise<boolean> =>
      await succeeds(
        client.send(
          new UpdateCommand({
            TableName,
            Key,
            UpdateExpression: "SET #version = :next",
            ConditionExpression: version === 0 ? "attribute_not_exists(#version) OR #version = :seen" : "#version = :seen",
            ExpressionAttributeNames: { "#version": "version" },
            ExpressionAttributeValues: { ":seen": version, ":next": version + 1 },
          }),
        ),
      ),
    create: async (client: DynamoDBDocumentClient): Promise<boolean> =>
      await succeeds(
        client.send(new PutCommand({ TableName, Item: { ...Key, version: 0 }, ConditionExpression: "attribute_not_exists(id)" })),
      ),
  };
}

/** The condition of a write was met. */
async function succeeds(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
}

/** The status and the date of the reply to an operation. */
async function dated(
  endpoint: string,
  operation: string,
  parameters: object,
): Promise<{ readonly status: number; readonly date: number }> {
  const reply = await fetch(endpoint, {
    method: "POST",
    headers: {
      "Content-Type": "application/x-amz-json-1.0",
      "X-Amz-Target": `DynamoDB_20120810.${operation}`,
      "X-Amz-Date": "20260101T000000Z",
      Authorization:
        "AWS4-HMAC-SHA256 Credential=any/20260101/eu-central-1/dynamodb/aws4_request, SignedHeaders=host, Signature=any",
    },
    body: JSON.stringify(parameters),
  });
  return { status: reply.status, date: Date.parse(reply.headers.get("date")!) };
}

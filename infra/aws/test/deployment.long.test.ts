import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
  DeleteTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  GetItemCommand,
  ScanCommand,
  type AttributeValue,
  type TableDescription,
} from "@aws-sdk/client-dynamodb";
import { Elector } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { motoMissing, startMoto } from "@leasehold/test-kit/backends/moto";
import type { ServiceProcess } from "@leasehold/test-kit/backends/service-process";
import { nodeExecutable } from "@leasehold/test-kit/processes/owned-process";
import { OCCURRENCE_TTL_ATTRIBUTE } from "../src/index.ts";
import { createStack, deleteStack, REGION } from "./deployed-table.ts";
import { SynthesizedApp } from "./synthesized-app.ts";

const STACK = "LeaseholdTable";
/** The program of the image. */
const CANDIDATE = fileURLToPath(new URL("../programs/candidate.ts", import.meta.url));
/** A recent time, because an occurrence that may be forgotten is refused. */
const HOUR = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000).toISOString();

describe.skipIf(await isMissing(motoMissing()))("the table that the synthesized stack creates in moto", () => {
  let app: SynthesizedApp;
  let moto: ServiceProcess;
  let tableName: string;
  let client: DynamoDBClient;

  beforeAll(async () => {
    [app, moto] = await Promise.all([SynthesizedApp.synthesize("deployment"), startMoto()]);
    const { TableName = "" } = await createStack(moto.url, STACK, await app.template(STACK));
    tableName = TableName;
    client = new DynamoDBClient({
      endpoint: moto.url,
      region: REGION,
      credentials: { accessKeyId: "any", secretAccessKey: "any" },
    });
  }, 120_000);

  afterAll(async () => {
    client.destroy();
    await app[Symbol.asyncDispose]();
    await moto.stop();
  });

  afterEach(() => {
    vi.unstubAllEnvs();
  });

  /** The environment variables of a process on AWS, for this election. */
  function environment(election: string): Record<string, string> {
    return {
      LEASE_TABLE: tableName,
      LEASE_TABLE_REGION: REGION,
      ELECTION: election,
      AWS_ENDPOINT_URL: moto.url,
      // The region of the process does not matter, because the table has its own.
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "any",
      AWS_SECRET_ACCESS_KEY: "any",
    };
  }

  async function itemsOf(election: string): Promise<Record<string, AttributeValue>[]> {
    const { Items = [] } = await client.send(new ScanCommand({ TableName: tableName, ConsistentRead: true }));
    return Items.filter((item) => item["election"]?.S === election);
  }

  async function tableNamed(TableName: string): Promise<TableDescription | undefined> {
    return (await client.send(new DescribeTableCommand({ TableName }))).Table;
  }

  test("equals the library's own table, passes the conformance suite, and is protected", async () => {
    const own = "own";
    await new DynamoDBLeaseStore({ client, tableName: own }).createTable();
    const { KeySchema, AttributeDefinitions, BillingModeSummary } = (await tableNamed(own))!;
    expect(await tableNamed(tableName)).toMatchObject({
      KeySchema,
      AttributeDefinitions,
      BillingModeSummary,
      DeletionProtectionEnabled: true,
    });
  });

  test("holds leases without the attribute of the TTL, and occurrences with it", async () => {
    const store = new DynamoDBLeaseStore({ client, tableName });
    const occurrences = store.occurrences("ttl", { retentionMs: 86_400_000 });
    for (const [leases, election] of [
      [store, "ttl"],
      [occurrences, `ttl@${HOUR}`],
    ] as const) {
      const { elected } = await new Elector({ store: leases, election }).tryRun(() => {});
      expect(elected).toBe(true);
    }
    const carries = Object.fromEntries(
      (await itemsOf("ttl")).map((item) => [item["entry"]?.S, OCCURRENCE_TTL_ATTRIBUTE in item]),
    );
    expect(carries).toEqual({ lease: false, [`tick#ttl@${HOUR}`]: true });
  });

  test("works with the bundled function of LeaderScheduledFunction: each hour is done once", async () => {
    for (const [name, value] of Object.entries(environment("hourly-report"))) vi.stubEnv(name, value);
    const bundle = pathToFileURL(join(await app.functionCode("LeaseholdSchedule"), "index.mjs"));
    const { handler } = (await import(bundle.href)) as { readonly handler: (event: object, context: object) => Promise<unknown> };
    const logged = vi.spyOn(console, "log").mockImplementation(() => {});
    onTestFinished(() => logged.mockRestore());
    // The event that EventBridge Scheduler makes of the schedule's input.
    const resources = [`arn:aws:scheduler:${REGION}:123456789012:schedule/default/hourly-report`];
    const event = { source: "aws.scheduler", "detail-type": "Scheduled Event", time: HOUR, resources };
    const context = { functionName: "hourly-report", awsRequestId: "1", getRemainingTimeInMillis: () => 60_000 };

    await expect(handler(event, context)).resolves.toEqual({ hour: HOUR, attempt: 1 });
    await expect(handler(event, { ...context, awsRequestId: "2" })).resolves.toMatchObject({ elected: false });

    const items = await itemsOf("hourly-report");
    const ofHour = items.filter(({ entry }) => entry?.S?.includes("@"));
    expect(ofHour).toMatchObject([
      { entry: { S: expect.stringMatching(new RegExp(`^tick#.*hourly-report@${HOUR.slice(0, 13)}`)) }, done: { BOOL: true } },
    ]);
    // The one further item is the note that `lastRun` reads.
    expect(items.length - ofHour.length).toBe(1);
    expect(logged).toHaveBeenCalledTimes(1);
  });

  test("works with the image's candidate: it leads, reports to CloudWatch, and releases when it is stopped", async () => {
    const port = await freePort();
    const candidate = spawn(nodeExecutable(), ["--conditions=@leasehold/source", CANDIDATE], {
      env: { ...environment("nightly-billing"), DRAIN_TIMEOUT_MS: "1000", HEALTH_PORT: String(port) },
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void candidate.kill("SIGKILL"));
    const ended = once(candidate, "exit");
    const isLeader: unknown[] = [];
    for await (const line of createInterface({ input: candidate.stdout })) {
      const { Election: election, IsLeader: leads } = JSON.parse(line) as Record<string, unknown>;
      if (election !== "nightly-billing") continue;
      // A new minute may begin at any time, and repeats the value.
      if (leads !== isLeader.at(-1)) isLeader.push(leads);
      if (leads !== 1 || candidate.killed) continue;
      expect(await healthExit(port)).toBe(0);
      candidate.kill("SIGTERM");
    }

    expect(await ended).toEqual([0, null]);
    expect(isLeader).toEqual([0, 1, 0]);
    const Key = { election: { S: "nightly-billing" }, entry: { S: "lease" } };
    const { Item } = await client.send(new GetItemCommand({ TableName: tableName, Key, ConsistentRead: true }));
    expect(Item).toMatchObject({ term: { N: "1" } });
    await expect(new DynamoDBLeaseStore({ client, tableName }).read("nightly-billing")).resolves.toMatchObject({
      state: "vacant",
    });
  });

  test("has to be reached by a candidate before ECS counts its task as healthy", async () => {
    const [port, nobody] = [await freePort(), await freePort()];
    const candidate = spawn(nodeExecutable(), ["--conditions=@leasehold/source", CANDIDATE], {
      env: { ...environment("cut-off"), AWS_ENDPOINT_URL: `http://127.0.0.1:${nobody}`, HEALTH_PORT: String(port) },
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void candidate.kill("SIGKILL"));
    const ended = once(candidate, "exit");
    // The first line of metrics shows that it runs.
    await once(candidate.stdout, "data");
    expect(await healthExit(port)).toBe(1);
    candidate.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  });

  /** Returns the exit code of the task definition's health check, which ECS runs in the container. */
  async function healthExit(port: number): Promise<unknown> {
    const { Resources } = await app.template("LeaseholdCandidates");
    const [definition] = Object.values(Resources).filter(({ Type }) => Type === "AWS::ECS::TaskDefinition");
    if (!definition) throw new Error("There is no task.");
    const [{ HealthCheck }] = definition.Properties["ContainerDefinitions"] as [{ HealthCheck: { Command: string[] } }];
    const [kind, program, ...args] = HealthCheck.Command;
    expect([kind, program]).toEqual(["CMD", "node"]);
    const [code] = await once(
      spawn(
        nodeExecutable(),
        args.map((arg) => arg.replace(":8080/", `:${port}/`)),
      ),
      "exit",
    );
    return code;
  }

  test("cannot be deleted, and remains after its stack", async () => {
    await expect(client.send(new DeleteTableCommand({ TableName: tableName }))).rejects.toThrow(
      /while DeletionProtectionEnabled|deletion protection/i,
    );
    await deleteStack(moto.url, STACK).catch(() => undefined);
    expect(await tableNamed(tableName)).toMatchObject({ TableStatus: "ACTIVE" });
  });
});

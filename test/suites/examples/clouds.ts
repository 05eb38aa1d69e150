import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, ScanCommand } from "@aws-sdk/lib-dynamodb";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { startAzurite } from "@leasehold/test-kit/backends/azurite";
import { startDynalite } from "@leasehold/test-kit/backends/dynalite";
import { startFirestore } from "@leasehold/test-kit/backends/firestore";
import { describe, expect } from "vitest";
import { LambdaFunction } from "../platforms/lambda-function.ts";
import { ExampleProcess, freePort } from "./example-process.ts";
import { test, TIME_LIMIT_MS, workshop } from "./test.ts";

describe.concurrent("examples of scheduled functions", { timeout: TIME_LIMIT_MS }, () => {
  test("aws-lambda writes one report for an hour, however often that is delivered", async ({ open }) => {
    const example = await workshop.install("aws-lambda", "check");
    // As `sam build` does by the template.
    const bundling = ["--bundle", "--platform=node", "--format=esm", "--target=es2023", "--external:@aws-sdk/*"];
    await example.run("npx", "esbuild", "handler.ts", ...bundling, "--outfile=handler.mjs");

    const dynalite = open.use(await startDynalite());
    const environment = {
      AWS_ENDPOINT_URL_DYNAMODB: dynalite.url,
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "any",
      AWS_SECRET_ACCESS_KEY: "any",
    };
    const credentials = { accessKeyId: "any", secretAccessKey: "any" };
    const client = new DynamoDBClient({ endpoint: dynalite.url, region: "us-east-1", credentials });
    open.defer(() => client.destroy());
    await new DynamoDBLeaseStore({ client, tableName: "leases" }).createTable();
    await client.send(
      new CreateTableCommand({
        TableName: "reports",
        BillingMode: "PAY_PER_REQUEST",
        AttributeDefinitions: [{ AttributeName: "hour", AttributeType: "S" }],
        KeySchema: [{ AttributeName: "hour", KeyType: "HASH" }],
      }),
    );
    const module = pathToFileURL(join(example.folder, "handler.mjs"));
    const [west, east] = await Promise.all(
      ["west", "east"].map(async (name) =>
        open.use(await LambdaFunction.start({ name, module, handler: "handler", environment })),
      ),
    );
    const time = "2026-11-20T10:00:00Z";
    const tick = (region: string): object => ({ id: region, time, resources: [`arn:aws:events:${region}:123456789012:rule/h`] });

    expect(await west!.invoke(tick("us-west-2"))).toMatchObject({ response: { hour: time, attempt: 1 } });
    expect(await east!.invoke(tick("us-east-1"))).toEqual({ response: { elected: false } });
    const { Items } = await DynamoDBDocumentClient.from(client).send(new ScanCommand({ TableName: "reports" }));
    expect(Items).toEqual([{ hour: time, attempt: 1, total: time.length }]);
  });

  test("azure-functions bills in one region, and its twin skips for a minute", async ({ open }) => {
    const example = await workshop.install("azure-functions", "build");
    const azurite = open.use(await startAzurite());
    const child = join(import.meta.dirname, "azure-child.ts");
    const invoke = async (): Promise<unknown> =>
      JSON.parse(
        await example.runWith(
          { LEASE_STORAGE: azurite.connectionString },
          ...(["node", child, join(example.folder, "dist/nightly-billing.js"), "nightlyBilling"] as const),
        ),
      );

    expect(await invoke()).toMatchObject({ logs: ["billing acme in term 1", "billing globex in term 1"] });
    expect(await invoke()).toEqual({ returnValue: { elected: false }, logs: [] });
    await azurite.advance(61_000);
    expect(await invoke()).toMatchObject({ logs: ["billing acme in term 2", "billing globex in term 2"] });
  });

  test("google-cloud refreshes in one region, while the other skips", async ({ open }) => {
    const example = await workshop.install("google-cloud", "check");
    const firestore = open.use(await startFirestore());
    const start = async (REGION: string): Promise<ExampleProcess> => {
      const env = {
        REGION,
        PORT: String(await freePort()),
        FIRESTORE_EMULATOR_HOST: firestore.host,
        GOOGLE_CLOUD_PROJECT: "local",
      };
      const region = open.use(new ExampleProcess(example, ["npm", "start"], env));
      await region.said("URL: ");
      return region;
    };
    const [west, east] = [await start("europe-west1"), await start("us-east4")];

    expect((await west.ask("/")).body).toEqual({ refreshed: 2, term: 1 });
    expect((await east.ask("/")).body).toEqual({ elected: false });
    expect((await west.ask("/")).body).toEqual({ refreshed: 2, term: 2 });
    // Three minutes without the first region.
    await firestore.advance(180_000);
    expect((await east.ask("/")).body).toEqual({ refreshed: 2, term: 3 });
    expect((await west.ask("/")).body).toEqual({ elected: false });
  });
});

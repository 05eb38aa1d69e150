import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, ScanCommand } from "@aws-sdk/lib-dynamodb";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { startDynalite } from "@leasehold/test-kit/backends/dynalite";
import { describe, expect } from "vitest";
import { DUE } from "../platforms/due.ts";
import { LambdaFunction } from "../platforms/lambda-function.ts";
import { test, TIME_LIMIT_MS, workshop } from "./test.ts";

describe.concurrent("examples of scheduled functions", { timeout: TIME_LIMIT_MS }, () => {
  test("aws-lambda writes one report for an hour, however often that is delivered", async ({ open }) => {
    const example = await workshop.install("aws-lambda", "check");
    // Bundle with the options of the template, as `sam build` does.
    const bundling = ["--bundle", "--platform=node", "--format=esm", "--target=es2023", "--external:@aws-sdk/*"];
    await example.run("npx", "esbuild", "handler.ts", ...bundling, "--outfile=handler.mjs");

    const dynalite = open.use(await startDynalite());
    const environment = {
      AWS_ENDPOINT_URL_DYNAMODB: dynalite.url,
      AWS_REGION: "us-west-2",
      LEASE_TABLE_REGION: "us-east-1",
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
    const time = DUE;
    const tick = (region: string): object => ({ id: region, time, resources: [`arn:aws:events:${region}:123456789012:rule/h`] });

    expect(await west!.invoke(tick("us-west-2"))).toMatchObject({ response: { hour: time, attempt: 1 } });
    expect(await east!.invoke(tick("us-east-1"))).toEqual({ response: { elected: false, reason: "done" } });
    const { Items } = await DynamoDBDocumentClient.from(client).send(new ScanCommand({ TableName: "reports" }));
    expect(Items).toEqual([{ hour: time, attempt: 1, total: time.length }]);
  });
});

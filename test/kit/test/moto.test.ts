import { connect } from "node:net";
import { ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { describeDynamoDb, dynamoDbClient } from "./dynamodb-checks.ts";
import { isMissing } from "../backends/missing-backend.ts";
import { motoMissing, startMoto } from "../backends/moto.ts";
import { describeProcesses } from "./process-checks.ts";
import type { ServiceProcess } from "../backends/service-process.ts";

describe.skipIf(await isMissing(motoMissing()))("moto", () => {
  let moto: ServiceProcess;

  beforeAll(async () => {
    moto = await startMoto();
  });

  afterAll(async () => {
    await moto.stop();
  });

  describeDynamoDb(() => moto);
  describeProcesses("moto");

  test("does not wait for a client that has connected and says nothing", async () => {
    const silent = connect(Number(new URL(moto.url).port), "127.0.0.1");
    onTestFinished(() => void silent.destroy());
    await expect(dynamoDbClient(moto.url).send(new ListTablesCommand())).resolves.toBeDefined();
  });
});

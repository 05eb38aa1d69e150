import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDynalite } from "../backends/dynalite.ts";
import { describeDynamoDb, dynamoDbClient } from "./dynamodb-checks.ts";
import { describeProcesses } from "./process-checks.ts";
import type { ServiceProcess } from "../backends/service-process.ts";

let dynalite: ServiceProcess;

beforeAll(async () => {
  dynalite = await startDynalite();
});

afterAll(async () => {
  await dynalite.stop();
});

describeDynamoDb(() => dynalite);
describeProcesses("dynalite");

test("survives clients that break off in the middle of a request", async () => {
  for (let index = 0; index < 10; index++) {
    const socket = connect(Number(new URL(dynalite.url).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.write("POST / HTTP/1.1\r\nHost: dynalite\r\nContent-Length: 20\r\n\r\n{");
    await delay(index);
    socket.resetAndDestroy();
  }
  await expect(dynamoDbClient(dynalite.url).send(new ListTablesCommand())).resolves.toBeDefined();
});

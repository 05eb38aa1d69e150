import { MemoryLeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { onlyAsLeader as onLambda } from "@leasehold/functions/aws-lambda";
import { onlyAsLeader as onAzure } from "@leasehold/functions/azure-functions";
import { onlyAsLeaderOnHttp } from "@leasehold/functions/google-cloud";
import { beforeEach, describe, expect, test } from "vitest";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";

let store: MemoryLeaseStore;
let clock: VirtualClock;
let warned: string[];

beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryLeaseStore({ clock });
  warned = [];
});

function options(more: object = {}) {
  const quiet = (): void => undefined;
  const warn = (message: string): void => void warned.push(message);
  const logger = { debug: quiet, info: quiet, warn, error: quiet };
  return { gate: "oncePerTick", store, election: "e", clock, logger, ...more } as const;
}

const context = { functionName: "f", awsRequestId: "1", getRemainingTimeInMillis: () => 60_000 } as never;
const onAws = (given = options()) => {
  const handler = onLambda(given, () => "ran");
  return async (time: string) => await handler({ time, resources: ["arn:aws:events:r:1:rule/nightly"] } as never, context);
};
const azure = async (next: string) =>
  await onAzure(options(), () => "ran")({ scheduleStatus: { next } } as never, { functionName: "f", invocationId: "1" } as never);
const google = async (scheduled: string) => {
  const headers = { "x-cloudscheduler-jobname": "nightly", "x-cloudscheduler-scheduletime": scheduled };
  await onlyAsLeaderOnHttp(options(), (_, response) => void response.end())(
    { headers } as never,
    new ServerResponse(new IncomingMessage(new Socket())) as never,
  );
};

describe("a schedule by rate", () => {
  test.each([
    ["EventBridge", async () => await onAws()("2025-12-31T23:02:37Z")],
    ["an Azure timer", async () => await azure("2025-12-31T23:02:37.482Z")],
    ["Cloud Scheduler", async () => await google("2025-12-31T23:02:37.5Z")],
  ])("of %s is warned of, because in another region it fires at other times", async (_, invoke) => {
    await invoke();

    expect(warned).toEqual([expect.stringMatching(/no cron expression names.*rate.*Schedule it by cron/)]);
  });

  test.each([
    ["EventBridge", async () => await onAws()("2025-12-31T23:03:00Z")],
    ["an Azure timer", async () => await azure("2025-12-31T23:02:37Z")],
    ["Cloud Scheduler", async () => await google("2025-12-31T23:03:00Z")],
  ])("is not assumed for %s if cron can name the time", async (_, invoke) => {
    await invoke();

    expect(warned).toEqual([]);
  });

  test("is warned of once", async () => {
    const invoke = onAws();
    await invoke("2025-12-31T23:02:37Z");
    await invoke("2025-12-31T23:07:37Z");

    expect(warned).toHaveLength(1);
  });

  test("is not warned of if 'occurrence' is given", async () => {
    const occurrence = () => ({ name: "n", scheduledMs: clock.wallMs() + 1 });
    await onAws(options({ occurrence }))("2025-12-31T23:02:37Z");

    expect(warned).toEqual([]);
  });
});

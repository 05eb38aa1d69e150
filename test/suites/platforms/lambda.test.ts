import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Elector } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
import { describe, expect, test as base } from "vitest";
import { DUE } from "./due.ts";
import { Gate } from "./gate.ts";
import { LambdaFunction, type Invoked } from "./lambda-function.ts";
import type { TestEvent } from "./lambda-handlers.ts";

const HANDLERS = new URL("./lambda-handlers.ts", import.meta.url);
/** Returns an event of EventBridge. Each region's own event has an id of its own. */
const tick = (region: string, id: string): TestEvent => ({
  id,
  time: DUE,
  resources: [`arn:aws:events:${region}:123456789012:rule/hourly`],
});

type Start = (handler: "exclusive" | "short" | "once", name?: string) => Promise<LambdaFunction>;

const test = base
  .extend("folder", async ({}, { onCleanup }) => {
    const folder = await mkdtemp(join(tmpdir(), "leasehold-lambda-"));
    onCleanup(async () => rm(folder, { recursive: true }));
    return folder;
  })
  .extend("store", ({ folder }, { onCleanup }) => {
    const store = new SqlLeaseStore({ sqlite: join(folder, "leases.db") });
    onCleanup(async () => store.close());
    return store;
  })
  /** The resources that end with the test. */
  .extend("open", async ({}, { onCleanup }) => {
    const open = new AsyncDisposableStack();
    onCleanup(async () => open.disposeAsync());
    return open;
  })
  .extend("start", ({ folder, open }): Start => async (handler, name = "billing") => {
    const environment = { LEASES: join(folder, "leases.db") };
    return open.use(await LambdaFunction.start({ name, module: HANDLERS, handler, environment }));
  });

describe.concurrent("a Lambda function behind the runtime interface", () => {
  test("leads, and has given the lease up by the time it has answered and is frozen", async ({ start, store }) => {
    const instance = await start("exclusive");

    await expect(instance.invoke({})).resolves.toMatchObject({ response: { term: 1, valid: true } });
    await expect(store.read("exclusive")).resolves.toMatchObject({ state: "vacant", term: 1 });
    await expect(instance.invoke({})).resolves.toMatchObject({ response: { term: 2 } });
  });

  test("finds the leadership of its last invocation over when it is thawed for the next", async ({ start }) => {
    const instance = await start("exclusive");
    await instance.invoke({});

    await expect(instance.invoke({})).resolves.toMatchObject({ response: { before: { valid: false, aborted: true } } });
  });

  test("finds its leadership over when it was frozen in the middle of its work, and a rival has led meanwhile", async ({
    start,
    store,
    open,
  }) => {
    const gate = open.use(await Gate.start());
    const instance = await start("short");
    const working = instance.invoke({ gate: gate.url });
    await gate.arrival;
    instance.freeze();
    const rival = new Elector({ store, election: "short", leaseDurationMs: 15_000 });
    const leadership = open.use(await rival.campaign());
    expect(leadership.term).toBe(2);
    instance.thaw();
    gate.open();

    await expect(working).resolves.toMatchObject({ response: { term: 1, valid: false } });
    expect(leadership.isValid()).toBe(true);
  });

  test("is told when its time is over, and has given the lease up by the time it has answered", async ({ start, store }) => {
    const instance = await start("exclusive");

    const invoked = await instance.invoke({ untilAborted: true }, { timeoutMs: 6_000 });

    // The unit tests check the exact time before the end, on a virtual clock.
    expect(invoked).toMatchObject({ response: { reason: "out-of-time" } });
    await expect(store.read("exclusive")).resolves.toMatchObject({ state: "vacant" });
  });

  test("fails when it is delivered again while it may be at work; after it was killed and its lease has run out it runs, as the next attempt", async ({
    start,
    open,
  }) => {
    const gate = open.use(await Gate.start());
    const [killed, next] = [await start("once", "west"), await start("once", "east")];
    const requestId = "8476a536";
    const working = killed.invoke({ ...tick("us-west-2", "a"), gate: gate.url }, { requestId });
    await gate.arrival;

    // Another request has its own redeliveries, so it skips.
    await expect(next.invoke(tick("us-east-1", "b"))).resolves.toEqual({
      response: { reason: "claimed", leader: `west-${requestId}` },
    });
    const redeliver = async (): Promise<Invoked> => await next.invoke(tick("us-west-2", "a"), { requestId });
    await expect(redeliver()).resolves.toMatchObject({ errorType: "AlreadyClaimedError" });

    process.kill(killed.pid, "SIGKILL");
    await expect(working).resolves.toMatchObject({ errorType: "Runtime.ExitError" });
    let invoked = await redeliver();
    while ("errorType" in invoked && invoked.errorType === "AlreadyClaimedError") invoked = await redeliver();
    expect(invoked).toMatchObject({ response: { term: 2, occurrence: { attempt: 2 } } });
  });
});

/**
 * Real processes and real signals on every store with a short lease, each with its real service where that is installed.
 * One store after another; all tests of one at once, since most of a test is waiting.
 */
import { describe, vi } from "vitest";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { STORE_NAMES, testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import { coldTakeover } from "./cold-takeover.ts";
import { lateWrite } from "./late-write.ts";
import { overrun } from "./overrun.ts";
import { rollingDeploy } from "./rolling-deploy.ts";
import { slowTransaction } from "./slow-transaction.ts";
import { StoreStage } from "./store-stage.ts";

vi.setConfig({ maxConcurrency: 64 });

/** Azure's shortest lease is long: its tests are in processes.test.ts, where they wait beside others. */
const shortLeases = STORE_NAMES.filter((name) => name !== "azure");
/** A transaction of DynamoDB is one request. */
const holdsTransactions = (name: StoreName): boolean => name !== "dynamodb";

describe.each(shortLeases)("%s", async (name) => {
  const missing = await isMissing((await testStore(name)).missing());
  describe.skipIf(missing)("processes", async () => {
    const stage = await StoreStage.of(name);
    rollingDeploy(stage);
    coldTakeover(stage);
    lateWrite(stage);
    overrun(stage);
    if (holdsTransactions(name)) slowTransaction(stage);
  });
});

import { describe } from "vitest";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import { exits } from "./exits.ts";
import { lateWrite } from "./late-write.ts";
import { overrun } from "./overrun.ts";
import { rollingDeploy } from "./rolling-deploy.ts";
import { StoreStage } from "./store-stage.ts";
import { voters } from "./voters.ts";

/** Ten times the duration of the longest test on an idle machine. */
const TIME_LIMIT_MS = 600_000;

/** Registers the tests of processes on one store. All of them run at once, because most of a test is waiting. */
export async function processesOn(name: StoreName): Promise<void> {
  const missing = await isMissing((await testStore(name)).missing());
  describe.skipIf(missing).concurrent(`processes on ${name}`, { timeout: TIME_LIMIT_MS }, async () => {
    const stage = await StoreStage.of(name);
    lateWrite(stage);
    overrun(stage);
    exits(stage);
    if (name === "voting") voters(stage);
    // One store with a lease in a record, and one with a lease of the service's own. This test shows no difference between other
    // stores.
    if (name === "postgres" || name === "etcd") rollingDeploy(stage);
  });
}

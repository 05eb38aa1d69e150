import { describe } from "vitest";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import { coldTakeover } from "./cold-takeover.ts";
import { lateWrite } from "./late-write.ts";
import { overrun } from "./overrun.ts";
import { rollingDeploy } from "./rolling-deploy.ts";
import { slowTransaction } from "./slow-transaction.ts";
import { StoreStage } from "./store-stage.ts";
import { voters } from "./voters.ts";

/** Registers what processes do on a store with a short lease. All tests of a store run at once: most of a test is waiting. */
export async function processesOn(name: StoreName): Promise<void> {
  const missing = await isMissing((await testStore(name)).missing());
  describe.skipIf(missing)(`processes on ${name}`, async () => {
    const stage = await StoreStage.of(name);
    lateWrite(stage);
    overrun(stage);
    if (name === "voting") {
      // Processes that vote are a list that stays, and wait for a whole lease after a start.
      voters(stage);
      return;
    }
    rollingDeploy(stage);
    coldTakeover(stage);
    // A transaction of etcd is one request; and on a quorum, a document of the kit's is none of the stores'.
    if (name !== "etcd" && name !== "quorum") slowTransaction(stage);
  });
}

import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { CandidateProcess } from "@leasehold/test-kit/candidates/candidate-process";
import type { StoreStage } from "./store-stage.ts";

/** No test ends these processes. They end because nothing of Leasehold's keeps them alive. */
export function exits(stage: StoreStage): void {
  describe.concurrent("a process whose elector has stopped", () => {
    test("ends by itself, after leading or standing by", async (context) => {
      const scene = await stage.scene(context);
      const leader = await scene.startLeader("leader");
      const standby = await scene.startStandby("standby");
      await leader.said("granted", { where: ({ by }) => by === "renew" });

      for (const candidate of [standby, leader]) await endsByItself(candidate);
    });

    if (stage.name !== "voting") return;
    test("ends by itself while it reaches no other process", async (context) => {
      const scene = await stage.scene(context);
      const leader = await scene.startLeader("leader");
      const standby = await scene.startStandby("standby");

      scene.cutOff(leader, standby);
      // A renewal hangs.
      await delay(stage.leaseMs / 3);

      for (const candidate of [standby, leader]) await endsByItself(candidate);
    });
  });
}

/** Stops a candidate's elector, and nothing else of its process. */
async function endsByItself(candidate: CandidateProcess): Promise<void> {
  candidate.obey({ kind: "stop" });
  await candidate.said("runSettled");
  await expect(candidate.said("exited")).resolves.toMatchObject({ code: 0 });
}

import { describe, expect, test } from "vitest";
import type { CandidateProcess } from "@leasehold/test-kit/candidates/candidate-process";
import type { StoreScene, StoreStage } from "./store-stage.ts";

/** The lease's duration changes while candidates with the old and the new one compete. */
export function rollingDeploy(stage: StoreStage): void {
  describe.concurrent("a rolling deploy that doubles the lease, and is rolled back", () => {
    test("never has two leaders, and each standby waits for the lease of the leader that died", async (context) => {
      const scene = await stage.scene(context);
      const shortMs = stage.leaseMs;
      const longMs = 2 * shortMs;
      const old = await scene.startLeader("old", { elector: { leaseDurationMs: shortMs } });
      const deployed = await scene.startStandby("deployed", { elector: { leaseDurationMs: longMs } });

      await succeeds(scene, deployed, old, shortMs);

      const rolledBack = await scene.startStandby("rolled-back", { elector: { leaseDurationMs: shortMs } });
      await succeeds(scene, rolledBack, deployed, longMs);
    });
  });
}

/** Kills the leader. Its standby leads once the leader's own lease has expired, and not before. */
async function succeeds(scene: StoreScene, standby: CandidateProcess, leader: CandidateProcess, leaseMs: number): Promise<void> {
  await leader.said("renewed");
  leader.signal("SIGKILL");
  await leader.said("exited");
  const takeover = await standby.said("startedLeading");
  expect(takeover.atMs - leader.last("granted").sentMs).toBeGreaterThanOrEqual(leaseMs);
  expect(scene.cast.faults).toEqual([]);
}

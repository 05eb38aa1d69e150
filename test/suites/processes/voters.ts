import { setTimeout as delay } from "node:timers/promises";
import { timing } from "@leasehold/core";
import { describe, expect, test, type TestContext } from "vitest";
import type { CandidateProcess } from "@leasehold/test-kit/candidates/candidate-process";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import type { StoreScene, StoreStage } from "./store-stage.ts";

/** Node's timers count whole milliseconds, and round up. */
const TIMER_STEP_MS = 3;

/** Failures of processes that are the service themselves. A third server is in the test's own process. */
export function voters(stage: StoreStage): void {
  const { leaseMs } = stage;
  const { renewDeadlineMs } = timing({ leaseDurationMs: leaseMs });

  describe.concurrent("a leader among processes that vote", () => {
    test("is not replaced before its lease has run out when it is killed", async (context) => {
      const { scene, leader, standby } = await pair(stage, context);

      leader.signal("SIGKILL");

      await leader.said("exited");
      const takeover = await standby.said("startedLeading");
      expect(takeover.atMs - leader.last("granted").sentMs).toBeGreaterThanOrEqual(leaseMs);
      await standby.said("renewed", { after: takeover });
      expect(scene.cast.faults).toEqual([]);
    });

    test("has released its lease when it ends by SIGTERM, and the process with it, and is replaced", async (context) => {
      const { scene, leader, standby } = await pair(stage, context);

      leader.signal("SIGTERM");

      await expect(leader.said("stoppedLeading")).resolves.toMatchObject({ released: true });
      await standby.said("startedLeading");
      await expect(leader.said("exited")).resolves.toMatchObject({ code: 0 });
      expect(scene.cast.faults).toEqual([]);
    });

    test("steps down in time when it is cut off, and deposes nobody when it is back", async (context) => {
      const { scene, leader, standby } = await pair(stage, context);

      const heal = scene.cutOff(leader);

      const { lastUnabortedMs } = await leader.said("aborted");
      expect(lastUnabortedMs - leader.last("granted").sentMs).toBeLessThanOrEqual(renewDeadlineMs + TIMER_STEP_MS);
      const takeover = await standby.said("startedLeading");
      heal();
      const healedMs = hostMs();
      // This is longer than a candidate's wait between two attempts.
      await standby.said("renewed", { after: takeover, where: ({ atMs }) => atMs > healedMs + leaseMs });
      expect(standby.all("aborted")).toEqual([]);
      expect(leader.all("startedLeading")).toHaveLength(1);
      expect(scene.cast.faults).toEqual([]);
    });

    test("has no successor while no server reaches another, and one leads after that", async (context) => {
      const { scene, leader, standby } = await pair(stage, context);

      const heal = scene.cutOff(leader, standby);
      await leader.said("stoppedLeading");
      await delay(leaseMs);
      expect(standby.all("startedLeading")).toEqual([]);
      const backMs = hostMs();
      heal();

      const isAfter = ({ atMs }: { readonly atMs: number }): boolean => atMs > backMs;
      await Promise.race([leader, standby].map(async (each) => each.said("startedLeading", { where: isAfter })));
      expect(scene.cast.faults).toEqual([]);
    });
  });
}

async function pair(
  stage: StoreStage,
  context: TestContext,
): Promise<{ readonly scene: StoreScene; readonly leader: CandidateProcess; readonly standby: CandidateProcess }> {
  const scene = await stage.scene(context);
  const leader = await scene.startLeader("leader");
  const standby = await scene.startStandby("standby");
  // A server takes part within a lease of its start, even if no other server answers it.
  const takesPartMs = standby.last("ready").atMs + stage.leaseMs;
  await leader.said("renewed", { where: ({ atMs }) => atMs > takesPartMs });
  return { scene, leader, standby };
}

import { setTimeout as delay } from "node:timers/promises";
import { timing } from "@leasehold/core";
import { describe, expect, test, type TestContext } from "vitest";
import type { CandidateProcess } from "@leasehold/test-kit/candidates/candidate-process";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import { FIRST_ROUND_TRIPS_MS, type StoreScene, type StoreStage } from "./store-stage.ts";

/** How late a timer may be on a busy machine. */
const TIMER_LATENESS_MS = 1_000;

/** The worst days of processes that are the service themselves: a third server is in the test's own process. */
export function voters(stage: StoreStage): void {
  const { leaseMs } = stage;
  const { renewDeadlineMs } = timing({ leaseDurationMs: leaseMs });

  describe.concurrent("a leader among processes that vote", () => {
    test("is replaced within 1.05 leases of its last renewal, and a claim, when it is killed", async (context) => {
      const { scene, leader, standby } = await pair(stage, context);
      await leader.said("renewed", { after: leader.lines.at(-1) });

      leader.signal("SIGKILL");

      const takeover = await standby.said("startedLeading");
      const sinceRenewalMs = takeover.atMs - leader.last("granted").sentMs;
      expect(sinceRenewalMs).toBeGreaterThanOrEqual(leaseMs);
      expect(sinceRenewalMs).toBeLessThanOrEqual(1.05 * leaseMs + FIRST_ROUND_TRIPS_MS);
      await standby.said("renewed", { after: takeover });
      expect(scene.cast.worstOverlapMs).toBeLessThanOrEqual(0);
    });

    test("is replaced at once when it ends by SIGTERM, and the process with it", async (context) => {
      const { scene, leader, standby } = await pair(stage, context);

      leader.signal("SIGTERM");

      const ended = await leader.said("stoppedLeading");
      expect(ended.released).toBe(true);
      const takeover = await standby.said("startedLeading");
      expect(takeover.atMs - ended.atMs).toBeLessThanOrEqual(FIRST_ROUND_TRIPS_MS);
      await expect(leader.said("exited")).resolves.toMatchObject({ code: 0 });
      expect(scene.cast.worstOverlapMs).toBeLessThanOrEqual(0);
    });

    test("steps down in time when it is cut off, and deposes nobody when it is back", async (context) => {
      const { scene, leader, standby } = await pair(stage, context);
      await leader.said("renewed", { after: leader.lines.at(-1) });

      const heal = scene.cutOff(leader);

      const { lastUnabortedMs } = await leader.said("aborted");
      expect(lastUnabortedMs - leader.last("granted").sentMs).toBeLessThanOrEqual(renewDeadlineMs + TIMER_LATENESS_MS);
      const takeover = await standby.said("startedLeading");
      heal();
      const healedMs = hostMs();
      // For longer than anybody waits between two attempts.
      await standby.said("renewed", { after: takeover, where: ({ atMs }) => atMs > healedMs + leaseMs });
      expect(standby.all("aborted")).toEqual([]);
      expect(leader.all("startedLeading")).toHaveLength(1);
      expect(scene.cast.worstOverlapMs).toBeLessThanOrEqual(0);
    });

    test("has no successor while nobody hears of anybody, and one leads soon after", async (context) => {
      const { scene, leader, standby } = await pair(stage, context);

      const heal = scene.cutOff(leader, standby);
      await leader.said("stoppedLeading");
      await delay(2 * leaseMs);
      expect(standby.all("startedLeading")).toEqual([]);
      const backMs = hostMs();
      heal();

      const isAfter = ({ atMs }: { readonly atMs: number }): boolean => atMs > backMs;
      const first = [leader, standby].map(async (each) => each.said("startedLeading", { where: isAfter }));
      const { atMs } = await Promise.race(first);
      expect(atMs - backMs).toBeLessThanOrEqual(2 * leaseMs);
      expect(scene.cast.worstOverlapMs).toBeLessThanOrEqual(0);
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
  // A server takes part within a lease of its start, whoever does not answer it.
  const takesPartMs = standby.last("ready").atMs + stage.leaseMs;
  await leader.said("renewed", { where: ({ atMs }) => atMs > takesPartMs });
  return { scene, leader, standby };
}

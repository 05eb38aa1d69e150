import { setTimeout as delay } from "node:timers/promises";
import type { TimingOptions } from "@leasehold/core";
import { describe, expect, test } from "vitest";
import type { CandidateProcess } from "@leasehold/test-kit/candidates/candidate-process";
import type { LineOf } from "@leasehold/test-kit/candidates/history";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import { FIRST_ROUND_TRIPS_MS, type StoreScene, type StoreStage } from "./store-stage.ts";

const TRY_EVERY_MS = 50;

/** A leader is killed while nobody else is there: whoever comes then remembers nothing, and has only the store to ask. */
export function coldTakeover(stage: StoreStage): void {
  describe.concurrent("a process that starts after the leader was killed", () => {
    test("leads at its first tryRun, once the lease and the tolerance of the store's clock have passed", async (context) => {
      const scene = await stage.scene(context);
      const renewal = await lastRenewalOf(await killedLeader(scene));
      await until(leaseEndMs(stage, scene, renewal.atMs));

      const fresh = await scene.start("fresh", { triesEveryMs: TRY_EVERY_MS, elector: patient(stage) });

      await fresh.said("taskStarted");
      expect(fresh.all("tried")).toEqual([]);
      expect(scene.cast.worstOverlapMs).toBeLessThanOrEqual(0);
    });

    test("does not lead by tryRun before the lease has passed, and then soon", async (context) => {
      const scene = await stage.scene(context);
      const renewal = await lastRenewalOf(await killedLeader(scene));

      const fresh = await scene.start("fresh", { triesEveryMs: TRY_EVERY_MS, elector: patient(stage) });

      const { atMs } = await fresh.said("startedLeading");
      expect(atMs - renewal.sentMs).toBeGreaterThanOrEqual(stage.leaseMs);
      // Where its start has taken longer than the lease, it leads right after that.
      const possibleMs = Math.max(leaseEndMs(stage, scene, renewal.atMs), fresh.last("ready").atMs);
      expect(atMs - possibleMs).toBeLessThanOrEqual(TRY_EVERY_MS + FIRST_ROUND_TRIPS_MS);
      expect(scene.cast.worstOverlapMs).toBeLessThanOrEqual(0);
    });

    test("leads at its first look by run, where expiry is 'store-clock'", async (context) => {
      const scene = await stage.scene(context);
      const renewal = await lastRenewalOf(await killedLeader(scene));
      await until(leaseEndMs(stage, scene, renewal.atMs));

      const fresh = await scene.start("fresh", { elector: { leaseDurationMs: stage.leaseMs, expiry: "store-clock" } });

      const { atMs } = await fresh.said("startedLeading");
      // Whoever goes by what it observes waits for a lease at least.
      expect(atMs - fresh.last("standby").atMs).toBeLessThan(stage.leaseMs);
      expect(atMs - renewal.sentMs).toBeGreaterThanOrEqual(stage.leaseMs);
      expect(scene.cast.worstOverlapMs).toBeLessThanOrEqual(0);
    });
  });
}

/** As much time for each request as there can be: the first one of a process loads the SDK. */
function patient({ leaseMs }: StoreStage): TimingOptions & { readonly leaseDurationMs: number } {
  return { leaseDurationMs: leaseMs, renewIntervalMs: leaseMs / 10, attemptTimeoutMs: leaseMs / 4 };
}

async function killedLeader(scene: StoreScene): Promise<CandidateProcess> {
  const leader = await scene.startLeader("leader");
  leader.signal("SIGKILL");
  return leader;
}

async function lastRenewalOf(killed: CandidateProcess): Promise<LineOf<"granted">> {
  await killed.said("exited");
  return killed.last("granted");
}

async function until(atMs: number): Promise<void> {
  await delay(Math.max(atMs - hostMs(), 0));
}

/** When everybody may know that the lease has run out. The store dates a renewal before it answers it. */
function leaseEndMs({ leaseMs }: StoreStage, { expiryDelayMs }: StoreScene, answeredMs: number): number {
  return answeredMs + leaseMs + expiryDelayMs;
}

import { timing } from "@leasehold/core";
import { describe, expect, test } from "vitest";
import type { StoreStage } from "./store-stage.ts";

/** A transaction is open for longer than the leader could do without a renewal, and for longer than its lease. */
export function slowTransaction(stage: StoreStage): void {
  describe.concurrent("a guarded transaction that takes longer than the lease", () => {
    test("goes through, and its leader leads on", async (context) => {
      const scene = await stage.scene(context);
      const leader = await scene.startLeader("leader");
      const standby = await scene.startStandby("standby");
      const { leaseMs } = stage;
      const { renewIntervalMs, renewDeadlineMs } = timing({ leaseDurationMs: leaseMs });
      const slowlyMs = 1.5 * leaseMs;
      expect(slowlyMs).toBeGreaterThan(renewDeadlineMs);
      const before = leader.last("renewed");

      leader.obey({ kind: "write-slowly", ms: slowlyMs });

      const wrote = await leader.said("wrote");
      expect(wrote).toMatchObject({ outcome: "ok", valid: true });
      expect(wrote.atMs - before.atMs).toBeGreaterThanOrEqual(slowlyMs);
      const renewals = leader.all("renewed").filter(({ atMs }) => atMs > before.atMs && atMs < wrote.atMs);
      expect(renewals.length).toBeGreaterThanOrEqual(Math.floor(slowlyMs / renewIntervalMs) - 1);
      expect(leader.all("aborted")).toEqual([]);
      expect(leader.all("startedLeading")).toHaveLength(1);
      expect(standby.all("startedLeading")).toEqual([]);
      await expect(scene.guardedContent()).resolves.toBe("leader");
    });
  });
}

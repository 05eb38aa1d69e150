import { OVERRUN_EXIT_CODE } from "@leasehold/core/diagnostics";
import { describe, expect, test } from "vitest";
import type { StoreStage } from "./store-stage.ts";

/** Short, so that the process ends long before its lease does. */
const DRAIN_TIMEOUT_MS = 1_000;

/** A leader ends its term, and its task ignores that. */
export function overrun(stage: StoreStage): void {
  describe.concurrent("a leader whose task ignores its signal", () => {
    test("ends its process before another one leads (onOverrun: 'exit')", async (context) => {
      const scene = await stage.scene(context);
      const leader = await scene.startLeader("leader", {
        task: "ignores-its-signal",
        elector: { leaseDurationMs: stage.leaseMs, drainTimeoutMs: DRAIN_TIMEOUT_MS, onOverrun: "exit" },
      });
      const standby = await scene.startStandby("standby");

      leader.obey({ kind: "resign" });

      const exited = await leader.said("exited");
      expect(exited).toMatchObject({ code: OVERRUN_EXIT_CODE });
      expect(leader.stderr).toContain("ending this process");
      expect(exited.atMs - leader.last("aborted").atMs).toBeGreaterThanOrEqual(DRAIN_TIMEOUT_MS);
      const takeover = await standby.said("startedLeading");
      expect(takeover.atMs).toBeGreaterThan(exited.atMs);
      expect(takeover.atMs - leader.last("granted").sentMs).toBeGreaterThanOrEqual(stage.leaseMs);
      expect(scene.cast.faults).toEqual([]);
    });
  });
}

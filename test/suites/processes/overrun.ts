import { setTimeout as delay } from "node:timers/promises";
import { OVERRUN_EXIT_CODE } from "@leasehold/core";
import { describe, expect, test } from "vitest";
import type { CandidateProcess } from "@leasehold/test-kit/candidates/candidate-process";
import type { CandidateSettings } from "@leasehold/test-kit/candidates/candidate";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import type { StoreScene, StoreStage } from "./store-stage.ts";

/** A leader gives up its term, and its task takes no notice of that for two leases. */
export function overrun(stage: StoreStage): void {
  const elector = { leaseDurationMs: stage.leaseMs, drainTimeoutMs: stage.leaseMs / 2 };

  describe.concurrent("a leader whose task ignores its signal for two leases", () => {
    test("has a successor in a higher term, and the service refuses its late write", async (context) => {
      const scene = await stage.scene(context);
      const { leader, standby } = await stubbornLeader(scene, elector);
      const before = leader.last("taskStarted");

      leader.obey({ kind: "resign" });
      const aborted = await leader.said("aborted");
      await leader.said("overrun");
      const successor = await standby.said("taskStarted");
      await expect(standby.said("wrote")).resolves.toMatchObject({ outcome: "ok", valid: true });
      await delay(Math.max(aborted.atMs + 2 * stage.leaseMs - hostMs(), 0));
      leader.obey({ kind: "write" });

      await expect(leader.said("wrote", { after: aborted })).resolves.toMatchObject({ outcome: "refused", valid: false });
      await expect(scene.guardedContent()).resolves.toBe("standby");
      expect(successor.term).toBeGreaterThan(before.term);

      // What its end sets off is nothing to the successor.
      leader.obey({ kind: "settle" });
      const settled = await leader.said("taskSettled");
      await leader.said("standby", { after: settled });
      await standby.said("renewed", { after: standby.lines.at(-1) });
      expect(standby.all("aborted")).toEqual([]);
      expect(leader.all("startedLeading")).toHaveLength(1);
      expect(scene.cast.worstOverlapMs).toBeLessThanOrEqual(0);
    });

    test("ends its process before anybody else leads (onOverrun: 'exit')", async (context) => {
      const scene = await stage.scene(context);
      const { leader, standby } = await stubbornLeader(scene, { ...elector, onOverrun: "exit" });

      leader.obey({ kind: "resign" });

      const exited = await leader.said("exited");
      expect(exited).toMatchObject({ code: OVERRUN_EXIT_CODE });
      expect(leader.stderr).toContain("ending this process");
      expect(exited.atMs - leader.last("aborted").atMs).toBeGreaterThanOrEqual(elector.drainTimeoutMs);
      const takeover = await standby.said("startedLeading");
      expect(takeover.atMs).toBeGreaterThan(exited.atMs);
      expect(takeover.atMs - leader.last("granted").sentMs).toBeGreaterThanOrEqual(stage.leaseMs);
      expect(scene.cast.worstOverlapMs).toBeLessThanOrEqual(0);
    });
  });
}

interface Pair {
  readonly leader: CandidateProcess;
  readonly standby: CandidateProcess;
}

async function stubbornLeader(scene: StoreScene, elector: CandidateSettings["elector"]): Promise<Pair> {
  const leader = await scene.startLeader("leader", { guards: true, task: "ignores-its-signal", elector });
  const standby = await scene.startStandby("standby", { guards: true });
  return { leader, standby };
}

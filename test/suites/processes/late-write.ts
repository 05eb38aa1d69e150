import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import type { StoreStage } from "./store-stage.ts";

/** Freezes a leader between its last check and its write. Only the service can still stop that write. */
export function lateWrite(stage: StoreStage): void {
  describe.concurrent("a leader that was frozen until another one led", () => {
    test("is refused the write that is its very next statement", async (context) => {
      const scene = await stage.scene(context);
      const leader = await scene.startLeader("leader", { guards: true });
      const standby = await scene.startStandby("standby", { guards: true });

      await leader.said("wrote");
      // The leader waits for the time of a lease, so there is time to freeze it. Most of this time passes while it is frozen.
      leader.obey({ kind: "freeze-before-write", ms: stage.leaseMs });
      const still = await leader.said("about-to-write");
      await leader.freeze();
      await expect(standby.said("wrote")).resolves.toMatchObject({ outcome: "ok" });
      await delay(Math.max(still.atMs + stage.leaseMs - hostMs(), 0));
      leader.thaw();

      // On a busy machine, an earlier term may have ended.
      await leader.said("invalid", { after: still });
      const late = await leader.said("wrote", { after: still });
      expect(late).toMatchObject({ outcome: "refused", valid: false });
      await expect(scene.guardedContent()).resolves.toBe("standby");
      expect(scene.cast.faults).toEqual([]);
    });
  });

  describe.concurrent("a leader whose task blocks its event loop for longer than its lease", () => {
    test("knows in the next statement that it does not lead", async (context) => {
      const scene = await stage.scene(context);
      const leader = await scene.startLeader("leader");
      const granted = await leader.said("granted", { where: ({ by }) => by === "renew" });

      leader.obey({ kind: "block", ms: 1.2 * stage.leaseMs });

      await expect(leader.said("unblocked")).resolves.toMatchObject({ valid: false, aborted: true });
      await leader.said("invalid", { after: granted });
      expect(scene.cast.faults).toEqual([]);
    });
  });
}

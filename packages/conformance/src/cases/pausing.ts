import assert from "node:assert/strict";
import { isLeaseholdError, type LeaseStore } from "@leasehold/core";
import type { PauseOutcome } from "@leasehold/core/provider";
import type { Case } from "../case.ts";
import type { Scenario } from "../scenario.ts";

/** Cases: repairs and pauses. */
export const pausing: readonly Case[] = [
  {
    id: "repair",
    title:
      "after a repair no candidate acquires for one lease, and then the next term is minTerm; a store without repairs throws UNSUPPORTED",
    async run(scene) {
      const [admin, b] = await scene.connect(2);
      const term = await scene.leadOnce(b);
      const minTerm = term + 1_000_000;
      const options = { minTerm, leaseDurationMs: scene.leaseMs, ...scene.limits };
      const ending = await scene.ending(admin.repair(scene.election, options));
      if (!admin.capabilities.repair) {
        assert.ok("error" in ending && isLeaseholdError(ending.error, "UNSUPPORTED"), "it should be UNSUPPORTED");
        return;
      }
      assert.ok("value" in ending, "a repair of a vacant election has failed");
      assert.deepEqual(ending.value, { repaired: true, minTerm, holdMs: scene.leaseMs });
      await scene.look(b);
      await scene.lose(b, "b");
      await scene.pass(scene.lapseMs);
      const next = await scene.win(b, "b", { aboveTerm: term });
      assert.equal(next.term, minTerm);
      const again = await admin.repair(scene.election, { ...options, minTerm: minTerm + 10 });
      assert.equal(again.repaired, false, "a lease that is held was repaired");
      await scene.keep(b, next);
    },
  },
  {
    id: "pause",
    title:
      "a pause keeps every candidate out until it is resumed, whatever ends the lease; a store without pauses throws UNSUPPORTED",
    async run(scene) {
      const [a, b, admin] = await scene.connect(3);
      const { election, limits } = scene;
      if (!admin.capabilities.pause) {
        for (const verb of ["pause", "resume"] as const) {
          const ending = await scene.ending<unknown>(admin[verb](election, { reason: "restore", ...limits }));
          assert.ok("error" in ending && isLeaseholdError(ending.error, "UNSUPPORTED"), "it should be UNSUPPORTED");
        }
        return;
      }
      const lease = await scene.win(a, "a");
      const reason = "restore: \u0000 é 👩‍🚀 \\ \" '";
      assert.deepEqual(await admin.resume(election, limits), { resumed: false });
      const { isNew, ...pause } = await admin.pause(election, { reason, ...limits });
      assert.equal(isNew, true);
      assert.equal(pause.reason, reason);
      assert.deepEqual(await b.pause(election, { reason: "again", ...limits }), { isNew: false, ...pause });
      await scene.keep(a, lease);
      assert.equal(
        ((await scene.ending(admin.transfer(election, "b", limits))) as { error?: { code?: string } }).error?.code,
        "PAUSED",
      );
      await scene.leave(a, lease);
      await isPaused(scene, b, pause);
      assert.equal(
        (await admin.break(election, { reason: "a pause", ...limits })).broken,
        false,
        "a break found something to lift",
      );
      assert.deepEqual(await admin.resume(election, limits), { resumed: true });
      const next = await scene.win(b, "b", { aboveTerm: lease.term });
      const { isNew: _, ...second } = await admin.pause(election, { reason: "again", ...limits });
      assert.equal((await admin.break(election, { reason: "now", ...limits })).broken, true, "the leader was not broken");
      await scene.isLost(b, next);
      await scene.look(a);
      await scene.pass(scene.lapseMs);
      await isPaused(scene, a, second);
      assert.deepEqual(await admin.resume(election, limits), { resumed: true });
      await scene.win(a, "a", { aboveTerm: next.term });
    },
  },
  {
    id: "pause-of-nothing",
    title: "an election that was never led can be paused, and a resume makes no record",
    async run(scene) {
      const [a, admin] = await scene.connect(2);
      if (!admin.capabilities.pause) return;
      const { election, limits } = scene;
      assert.deepEqual(await admin.resume(election, limits), { resumed: false });
      assert.equal(await scene.look(admin), undefined);
      await admin.pause(election, { reason: "not yet", ...limits });
      await scene.lose(a, "a");
      await admin.resume(election, limits);
      assert.equal((await scene.win(a, "a")).term, 1);
    },
  },
];

/** Checks that no process may acquire, with a memory or without one, and that a read gives the reason. */
async function isPaused(scene: Scenario, store: LeaseStore, pause: Omit<PauseOutcome, "isNew">): Promise<void> {
  assert.deepEqual((await scene.look(store))?.bar, { kind: "pause", ...pause });
  for (const one of [store, await scene.place.connect()]) await scene.lose(one, "c");
}

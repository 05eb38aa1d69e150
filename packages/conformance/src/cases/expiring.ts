import assert from "node:assert/strict";
import type { LeaseStore } from "@leasehold/core";
import type { Case } from "../case.ts";
import { assertLed, storeClockLatenessMs, type Scenario } from "../scenario.ts";

/** Cases: a lease that is not renewed expires. */
export const expiring: readonly Case[] = [
  {
    id: "expiry-watched",
    title: "a candidate that has observed a dead holder's lease for its whole duration takes over, and not sooner",
    async run(scene) {
      const [a, b, c] = await scene.connect(3);
      const lease = await scene.win(a, "a");
      for (const store of [b, c]) await scene.look(store);
      await scene.pass(scene.leaseMs * 0.6);
      await scene.lose(b, "b");
      await scene.pass(scene.leaseMs * 0.6);
      scene.hasExpired(await scene.look(c), lease);
      const next = await scene.win(b, "b");
      assert.ok(next.term > lease.term, `term ${next.term} follows term ${lease.term}`);
      const { reason } = await scene.isLost(a, lease);
      assert.equal(reason, "taken");
      await scene.lose(c, "c");
      await scene.keep(b, next);
    },
  },
  {
    id: "expiry-restarts",
    title: "a renewal starts the wait anew",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const lease = await scene.win(a, "a");
      await scene.look(b);
      // Each read finds a lease that was granted longer ago than it lasts, and renewed since.
      for (let renewals = 0; renewals < 3; renewals += 1) {
        await scene.pass(scene.leaseMs * 0.6);
        await scene.keep(a, lease);
        if (renewals > 0) await scene.lose(b, "b");
      }
      await scene.look(b);
      await scene.pass(scene.lapseMs);
      const next = await scene.win(b, "b");
      assert.ok(next.term > lease.term);
      await scene.isLost(a, lease);
    },
  },
  {
    id: "expiry-by-the-record",
    title: "the duration that counts is the lease's own, not the rival's",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const shortMs = scene.leaseMs;
      const longMs = 2 * scene.leaseMs;
      await scene.win(a, "a", { leaseDurationMs: longMs });
      await scene.look(b);
      await scene.pass(shortMs * 1.2);
      await scene.lose(b, "b", { leaseDurationMs: shortMs });
      await scene.pass(shortMs * 1.2);
      const next = await scene.win(b, "b", { leaseDurationMs: shortMs });
      assert.equal(next.leaseDurationMs, shortMs);
      await scene.look(a);
      await scene.pass(shortMs * 1.2);
      await scene.win(a, "a", { leaseDurationMs: longMs });
    },
  },
  {
    id: "expiry-cold-reader",
    title: "a process that has not watched never calls a live lease expired, and never takes it",
    async run(scene) {
      const [a] = await scene.connect(1);
      const lease = await scene.win(a, "a");
      for (let renewals = 0; renewals < 3; renewals += 1) {
        const [cold, colder] = await scene.connect(2);
        const seen = await scene.look(cold);
        assertLed(seen, "a first look at a live lease");
        assert.deepEqual([seen.holder, seen.term], ["a", lease.term]);
        await scene.lose(cold, "cold");
        const outcome = await colder.acquire(scene.asking("colder"));
        assert.equal(outcome.acquired, false, "a process took a live lease at its first sight");
        await scene.pass(scene.leaseMs * 0.6);
        await scene.keep(a, lease);
      }
    },
  },
  {
    id: "expiry-takes-watching",
    title: "a process that has not watched, and has no store clock, has to watch a dead holder's lease first",
    async run(scene) {
      const [a] = await scene.connect(1);
      const { expiry, storeClock } = a.capabilities;
      const tells = expiry === "native" || storeClock?.exact === true;
      const lease = await scene.win(a, "a");
      await scene.pass(scene.lapseMs);
      const [cold] = await scene.connect(1);
      const seen = await scene.look(cold);
      if (tells) {
        // A store that judges expiry itself knows that the lease has run out.
        scene.hasExpired(seen, lease);
      } else {
        assert.equal(seen?.state, "unknown", "a first look cannot tell how old a lease is");
        await scene.lose(cold, "cold");
        await scene.pass(scene.lapseMs);
      }
      await scene.win(cold, "cold");
    },
  },
  {
    id: "expiry-store-clock",
    title: "by the store's own clock, a process without a memory takes over after the duration, and never before",
    needs: ["store-clock"],
    async run(scene) {
      const [a] = await scene.connect(1);
      const lease = await scene.win(a, "a");
      await scene.pass(scene.leaseMs * 0.5);
      const { extendedAt } = await scene.keep(a, lease);
      assert.ok(extendedAt);
      await scene.pass(scene.leaseMs * 0.6);
      await coldMayNot(scene);
      await coldMayNot(scene);
      await scene.pass(scene.leaseMs * 0.6 + storeClockLatenessMs(a));
      const [cold] = await scene.connect(1);
      scene.hasExpired(await scene.look(cold, { expiry: "store-clock" }), lease);
      const next = await scene.win(cold, "cold", { expiry: "store-clock" });
      assert.ok(next.term > lease.term);
      await scene.isLost(a, lease);
    },
  },
];

async function coldMayNot(scene: Scenario): Promise<void> {
  const cold: LeaseStore = await scene.place.connect();
  assertLed(await scene.look(cold, { expiry: "store-clock" }), "a first look by the store's clock");
  await scene.lose(cold, "cold", { expiry: "store-clock" });
}

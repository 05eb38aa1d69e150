import assert from "node:assert/strict";
import type { LeaseStore } from "@leasehold/core";
import type { Lease, RenewOutcome } from "@leasehold/core/provider";
import type { Case } from "../case.ts";
import { assertLed, isTaken, type Ending, type Scenario } from "../scenario.ts";
import type { Faults } from "../store-under-test.ts";
import { heldLease, sendLate, vacantLease, wonOrFree } from "./unreliable-network.ts";

/** Cases: requests arrive late, or are delivered twice. */
export const delayingMessages: readonly Case[] = [
  {
    id: "late-acquire",
    title: "an acquisition that arrives after another's win does not take it away",
    needs: ["faults"],
    async run(scene) {
      const { store, faults, other } = await vacantLease(scene);
      const { held, sent: call } = await sendLate(faults, () => store.acquire(scene.asking("a")));
      const next = await scene.win(other, "b");
      await held.letGo();
      const ending = await scene.ending(call);
      assert.ok("error" in ending || !ending.value.acquired, "an acquisition was won that came second");
      const seen = await scene.look(other);
      assert.deepEqual([seen?.term, seen?.holder], [next.term, "b"]);
      await scene.keep(other, next);
      await scene.leave(other, next);
      const last = await scene.win(store, "a");
      assert.ok(last.term > next.term);
    },
  },
  {
    id: "late-acquire-given-up",
    title: "an acquisition that arrives after it was given up is open to its own process at once and, through it, to anybody",
    needs: ["faults"],
    async run(scene) {
      const { store, faults, other } = await vacantLease(scene);
      const { held, sent: call } = await sendLate(faults, () => store.acquire(scene.asking("a")));
      const ending = await scene.ending(call);
      assert.ok("error" in ending || !ending.value.acquired, "an acquisition was won before it arrived");
      await held.letGo();
      await wonOrFree(scene, store, other, ending);
    },
  },
  {
    id: "late-renewal",
    title: "a renewal that arrives after a successor's acquisition renews nothing",
    needs: ["faults"],
    async run(scene) {
      const { store, faults, other, lease } = await heldLease(scene, { value: "of a" });
      const { ending, next } = await outlastedBy(scene, other, faults, () => store.renew(lease, scene.limits));
      assert.ok("error" in ending || !ending.value.held, "a renewal was confirmed after a successor's acquisition");
      const seen = await scene.look(other);
      assert.deepEqual([seen?.term, seen?.holder, seen?.value], [next.term, "b", "of b"]);
      await scene.keep(other, next);
      await scene.isLost(store, lease);
      assert.equal(await store.release(lease, scene.limits), "not-held");
      await scene.keep(other, next);
    },
  },
  {
    id: "late-release",
    title: "a release that arrives after a successor's acquisition frees nothing",
    needs: ["faults"],
    async run(scene) {
      const { store, faults, other, lease } = await heldLease(scene);
      const [third] = await scene.connect(1);
      const { next } = await outlastedBy(scene, other, faults, () => store.release(lease, scene.limits));
      assertLed(await scene.look(third), "a look after a release that was too late");
      await scene.keep(other, next);
      await scene.lose(third, "c");
    },
  },
  {
    id: "late-renewal-after-release",
    title: "a renewal or a publication that arrives after the release does not bring the lease back",
    needs: ["faults"],
    async run(scene) {
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      for (const what of ["renewal", "publication"]) {
        const lease = await scene.win(store, "a");
        await scene.look(other);
        const send = (): Promise<RenewOutcome> =>
          what === "renewal" ? store.renew(lease, scene.limits) : store.publish(lease, "back from the dead", scene.limits);
        const { held, sent: ending } = await sendLate(faults, () => scene.ending(send()));
        // The call is abandoned before the release is sent, as an elector does.
        await ending;
        await scene.leave(store, lease);
        await held.letGo();
        const seen = await scene.look(other);
        assert.deepEqual([isTaken(seen), seen?.value], [false, undefined], `a late ${what} brought a released lease back`);
        await scene.leave(other, await scene.win(other, "b"));
      }
    },
  },
  {
    id: "counts-from-send",
    title: "a lease counts from before the request was sent that won or renewed it",
    needs: ["faults"],
    async run(scene) {
      const { store, faults } = await vacantLease(scene);
      const lateMs = scene.limits.timeoutMs / 4;
      const slowly = async <T>(call: () => Promise<T>): Promise<T> => {
        const { held, sent: result } = await sendLate(faults, call);
        await scene.pass(lateMs);
        await held.letGo();
        return await scene.settled(result);
      };
      const outcome = await slowly(() => store.acquire(scene.asking("a")));
      assert.ok(outcome.acquired, "an acquisition that is slow is still an acquisition");
      const { lease } = outcome;
      const first = await slowly(() => store.renew(lease, scene.limits));
      const second = await scene.keep(store, lease);
      assert.ok(first.held && first.extendedAt && second.extendedAt, "a renewal must say from when it counts");
      for (const [what, fromMs, toMs] of [
        ["an acquisition", lease.grantedAt.monotonicMs, first.extendedAt.monotonicMs],
        ["a renewal", first.extendedAt.monotonicMs, second.extendedAt.monotonicMs],
      ] as const) {
        assert.ok(toMs - fromMs >= lateMs * 0.9, `${what} counts from its reply, or later, and not from its send`);
      }
    },
  },
  {
    id: "duplicate-acquire",
    title: "an acquisition that arrives twice is won once, or open to its own process at once",
    needs: ["duplicates"],
    async run(scene) {
      const { store, faults, other } = await vacantLease(scene);
      await faults.duplicate?.();
      await wonOrFree(scene, store, other, await scene.ending(store.acquire(scene.asking("a"))));
    },
  },
  {
    id: "duplicate-renewal",
    title: "a renewal or a publication that arrives twice leaves the lease with its holder",
    needs: ["duplicates"],
    async run(scene) {
      const { store, faults, other, lease } = await heldLease(scene);
      await faults.duplicate?.();
      const ending = await scene.ending(store.renew(lease, scene.limits));
      assert.ok("error" in ending || ending.value.held, "a renewal that arrived twice is no loss");
      await scene.keep(store, lease);
      await faults.duplicate?.();
      const published = await scene.ending(store.publish(lease, "once", scene.limits));
      assert.ok("error" in published || published.value.held, "a publication that arrived twice is no loss");
      await scene.keep(store, lease);
      const seen = await scene.look(other);
      assert.deepEqual([seen?.term, seen?.holder, seen?.value], [lease.term, "a", "once"]);
      await scene.lose(other, "b");
      await scene.leave(store, lease);
      await scene.win(other, "b");
    },
  },
  {
    id: "duplicate-release",
    title: "a release that arrives twice frees the lease, once",
    needs: ["duplicates"],
    async run(scene) {
      const { store, faults, other, lease } = await heldLease(scene);
      await faults.duplicate?.();
      await scene.ending(store.release(lease, scene.limits));
      const next = await scene.win(other, "b");
      assert.equal(await store.release(lease, scene.limits), "not-held");
      await scene.keep(other, next);
    },
  },
];

/** Sends a request that arrives only after another candidate has won the lease. */
async function outlastedBy<T>(
  scene: Scenario,
  other: LeaseStore,
  faults: Faults,
  send: () => Promise<T>,
): Promise<{ readonly ending: Ending<T>; readonly next: Lease }> {
  const { held, sent } = await sendLate(faults, () => scene.ending(send(), 3 * scene.leaseMs));
  await scene.pass(scene.lapseMs);
  const next = await scene.win(other, "b", { value: "of b" });
  await held.letGo();
  return { ending: await sent, next };
}

import assert from "node:assert/strict";
import { isLeaseholdError, type LeaseStore } from "@leasehold/core";
import type { TransferOutcome, Lease, RenewOutcome } from "@leasehold/core/provider";
import type { Case } from "../case.ts";
import { waitReally } from "../real-time.ts";
import type { Scenario } from "../scenario.ts";

/** The real time within which a renewal has to announce a transfer. */
const ANNOUNCED_WITHIN_MS = 8_000;
const REASON = "maintenance – bitte warten 🔧";

/** Cases: breaks and transfers. */
export const administering: readonly Case[] = [
  {
    id: "break-closes-renewal",
    title: "a break closes renewal at once, and says why",
    async run(scene) {
      const [a, admin, reader] = await scene.connect(3);
      const lease = await scene.win(a, "a");
      assert.deepEqual(await admin.break(scene.election, { reason: REASON, ...scene.limits }), {
        broken: true,
        term: lease.term,
      });
      const outcome = await scene.isLost(a, lease);
      assert.deepEqual([outcome.reason, outcome.barredUntilExpiry], ["broken", true]);
      assert.ok(outcome.explanation.includes(REASON), "the leader must learn the reason of the break");
      const seen = await scene.look(reader);
      assert.ok(seen?.state === "ending" || seen?.state === "unknown", `a broken lease that still runs is '${seen?.state}'`);
      assert.deepEqual([seen.term, seen.endingReason], [lease.term, REASON]);
    },
  },
  {
    id: "break-waits",
    title: "no candidate acquires a broken lease before it has run out, and then anyone may; the acquisition raises the term",
    async run(scene) {
      const [a, b, c, admin] = await scene.connect(4);
      const lease = await scene.win(a, "a");
      for (const store of [b, c]) await scene.look(store);
      await scene.pass(scene.leaseMs * 0.3);
      await admin.break(scene.election, { reason: REASON, ...scene.limits });
      const [cold] = await scene.connect(1);
      for (const store of [b, admin, cold]) await scene.lose(store, "b");
      await scene.pass(scene.leaseMs * 0.3);
      for (const store of [b, cold]) await scene.lose(store, "b");
      assert.equal((await scene.look(c))?.term, lease.term, "a break must not raise the term");
      await scene.pass(scene.leaseMs * 0.6);
      assert.equal((await scene.look(c))?.term, lease.term, "a break must not raise the term");
      const next = await scene.win(b, "b");
      assert.ok(next.term > lease.term, `term ${next.term} follows term ${lease.term}`);
      await scene.keep(b, next);
      assert.equal((await scene.look(c))?.endingReason, undefined, "a break ends one term, not the next");
      assert.equal((await scene.isLost(a, lease)).barredUntilExpiry, false);
    },
  },
  {
    id: "break-then-release",
    title: "the holder of a broken lease may still release it, which shortens the wait",
    async run(scene) {
      const [a, b, admin] = await scene.connect(3);
      const lease = await scene.win(a, "a");
      await scene.look(b);
      await admin.break(scene.election, { reason: REASON, ...scene.limits });
      await scene.isLost(a, lease);
      await scene.leave(a, lease);
      const next = await scene.win(b, "b");
      assert.ok(next.term > lease.term);
      await scene.keep(b, next);
    },
  },
  {
    id: "break-if-term",
    title: "a break of another term breaks nothing",
    async run(scene) {
      const [a, admin] = await scene.connect(2);
      const earlier = await scene.leadOnce(a);
      const lease = await scene.win(a, "a");
      for (const ifTerm of [earlier, lease.term + 1]) {
        for (const immediate of [false, true]) {
          const outcome = await admin.break(scene.election, { reason: REASON, ifTerm, immediate, ...scene.limits });
          assert.equal(outcome.broken, false, `term ${lease.term} was broken by a break of term ${ifTerm}`);
        }
      }
      await scene.keep(a, lease);
      const outcome = await admin.break(scene.election, { reason: REASON, ifTerm: lease.term, ...scene.limits });
      assert.deepEqual(outcome, { broken: true, term: lease.term });
      await scene.isLost(a, lease);
    },
  },
  {
    id: "break-immediate",
    title: "an immediate break frees the lease at once",
    async run(scene) {
      const [a, b, admin] = await scene.connect(3);
      const lease = await scene.win(a, "a");
      const outcome = await admin.break(scene.election, { reason: REASON, immediate: true, ...scene.limits });
      assert.deepEqual(outcome, { broken: true, term: lease.term });
      const seen = await scene.look(b);
      assert.equal(seen?.term, scene.keepsRecord ? lease.term : seen?.term, "a break must not raise the term");
      const lost = await scene.isLost(a, lease);
      assert.equal(lost.barredUntilExpiry, false);
      assert.ok(
        lost.explanation.includes(REASON),
        `the explanation must name the reason of the break, and not "${lost.explanation}"`,
      );
      const next = await scene.win(b, "b");
      assert.ok(next.term > lease.term);
      assert.equal(await a.release(lease, scene.limits), "not-held");
      await scene.keep(b, next);
    },
  },
  {
    id: "break-vacant",
    title: "a break of a lease that nobody holds breaks nothing",
    async run(scene) {
      const [a, admin] = await scene.connect(2);
      assert.equal((await admin.break(scene.election, { reason: REASON, ...scene.limits })).broken, false);
      assert.equal(await scene.look(a), undefined, "a break must not make a record");
      const term = await scene.leadOnce(a);
      for (const immediate of [false, true]) {
        const outcome = await admin.break(scene.election, { reason: REASON, immediate, ...scene.limits });
        assert.equal(outcome.broken, false);
      }
      scene.isFree(await scene.look(a), term);
      await scene.win(a, "a");
    },
  },
  {
    id: "break-refused",
    title: "a break without a reason, or of no possible term, is refused before any request",
    async run(scene) {
      const [admin] = await scene.connect(1);
      const { election } = scene;
      await scene.refuses("a break without a reason", election, () => admin.break(election, {} as { reason: string }));
      await scene.refuses("a reason with a lone surrogate", election, () => admin.break(election, { reason: "\ud800" }));
      await scene.refuses("ifTerm 0", election, () => admin.break(election, { reason: REASON, ifTerm: 0 }));
    },
  },
  {
    id: "transfer-accepted",
    title: "a transfer ends the present term, and only the named candidate may acquire after it: accepted",
    needs: ["transfer"],
    async run(scene) {
      const [a, named, other, admin] = await scene.connect(4);
      const lease = await scene.win(a, "a");
      for (const store of [named, other]) await scene.look(store);
      const outcome = begin(admin.transfer(scene.election, "named", { transferTimeoutMs: 2 * scene.leaseMs, ...scene.limits }));
      await drains(scene, a, lease, "named");
      for (const [store, id] of [
        [other, "other"],
        [a, "a"],
      ] as const) {
        const seen = await scene.look(store);
        assert.deepEqual(seen?.bar, { kind: "transfer", candidateId: "named" }, "what is reserved must say for whom");
        await scene.lose(store, id);
      }
      const next = await scene.win(named, "named");
      assert.ok(next.term > lease.term);
      assert.equal(await scene.settled(outcome, 4 * scene.leaseMs), "accepted");
      const { transferTo } = await scene.keep(named, next);
      assert.equal(transferTo, undefined, "a transfer ends one term, not the next");
      await scene.leave(named, next);
      await scene.win(other, "other");
    },
  },
  {
    id: "transfer-expired",
    title: "where the named candidate does not come, anyone may acquire after the timeout: expired",
    needs: ["transfer"],
    async run(scene) {
      const [a, other, admin] = await scene.connect(3);
      const transferTimeoutMs = scene.leaseMs;
      const lease = await scene.win(a, "a");
      await scene.look(other);
      const outcome = begin(admin.transfer(scene.election, "nobody", { transferTimeoutMs, ...scene.limits }));
      await drains(scene, a, lease, "nobody");
      await scene.lose(other, "other");
      await scene.pass(transferTimeoutMs * 0.4);
      await scene.lose(other, "other");
      assert.equal(await scene.settled(outcome, 4 * scene.leaseMs), "expired");
      await scene.pass(transferTimeoutMs * 0.2);
      const next = await scene.win(other, "other");
      assert.ok(next.term > lease.term);
    },
  },
  {
    id: "transfer-from-the-dead",
    title: "a transfer does not make the named candidate wait any longer for a leader that has died",
    needs: ["transfer"],
    async run(scene) {
      const [a, named, other, admin] = await scene.connect(4);
      const lease = await scene.win(a, "a");
      for (const store of [named, other]) await scene.look(store);
      await scene.pass(scene.leaseMs * 0.5);
      const outcome = begin(admin.transfer(scene.election, "named", { transferTimeoutMs: 3 * scene.leaseMs, ...scene.limits }));
      await scene.pass(scene.leaseMs * 0.1);
      await scene.lose(named, "named");
      await scene.pass(scene.leaseMs * 0.6);
      await scene.lose(other, "other");
      const next = await scene.win(named, "named");
      assert.ok(next.term > lease.term);
      assert.equal(await scene.settled(outcome, 4 * scene.leaseMs), "accepted");
      await scene.isLost(a, lease);
    },
  },
  {
    id: "transfer-lost",
    title: "a transfer is lost where another candidate comes to lead",
    needs: ["transfer"],
    async run(scene) {
      const [a, b, admin] = await scene.connect(3);
      const lease = await scene.win(a, "a");
      const outcome = begin(admin.transfer(scene.election, "named", { transferTimeoutMs: 2 * scene.leaseMs, ...scene.limits }));
      await isTold(scene, a, lease);
      await b.break(scene.election, { reason: REASON, immediate: true, ...scene.limits });
      await scene.win(b, "b");
      assert.equal(await scene.settled(outcome, 4 * scene.leaseMs), "lost");
    },
  },
  {
    id: "transfer-if-term",
    title: "a transfer of another term is lost, and the leader hears nothing of it",
    needs: ["transfer"],
    async run(scene) {
      const [a, admin] = await scene.connect(2);
      const earlier = await scene.leadOnce(a);
      const lease = await scene.win(a, "a");
      for (const ifTerm of [earlier, lease.term + 1]) {
        assert.equal(await scene.settled(admin.transfer(scene.election, "named", { ifTerm, ...scene.limits })), "lost");
      }
      assert.equal((await scene.keep(a, lease)).transferTo, undefined);
    },
  },
  {
    id: "transfer-refused",
    title:
      "a transfer to nobody, for no time or of no possible term is refused before any request; a store without transfers throws UNSUPPORTED",
    async run(scene) {
      const [admin] = await scene.connect(1);
      const { election } = scene;
      if (admin.capabilities.transfer === undefined) {
        const ending = await scene.ending(admin.transfer(election, "named", {}));
        assert.ok("error" in ending && isLeaseholdError(ending.error, "UNSUPPORTED"), "it should be UNSUPPORTED");
        return;
      }
      await scene.refuses("a transfer to ''", election, () => admin.transfer(election, "", {}));
      await scene.refuses("transferTimeoutMs 0", election, () => admin.transfer(election, "b", { transferTimeoutMs: 0 }));
      await scene.refuses("ifTerm 1.5", election, () => admin.transfer(election, "b", { ifTerm: 1.5 }));
    },
  },
];

/** Lets a call run in the background. Its error is checked later. */
export function begin(call: Promise<TransferOutcome>): Promise<TransferOutcome> {
  call.catch(() => undefined);
  return call;
}

/** Waits until a renewal announces the transfer. */
export async function isTold(scene: Scenario, store: LeaseStore, lease: Lease): Promise<RenewOutcome> {
  // The pauses grow, because constant renewals make an administrator's conditional write fail.
  for (
    let waitedMs = 0, pauseMs = 20;
    waitedMs <= ANNOUNCED_WITHIN_MS;
    waitedMs += pauseMs, pauseMs = Math.min(4 * pauseMs, 2_000)
  ) {
    await waitReally(pauseMs);
    const outcome = await store.renew(lease, scene.limits);
    if (!outcome.held || outcome.transferTo !== undefined) return outcome;
  }
  assert.fail("no renewal announced the transfer");
}

/** Checks that the leader learns of the transfer, drains and ends, as the store's capabilities say. */
async function drains(scene: Scenario, store: LeaseStore, lease: Lease, named: string): Promise<void> {
  const outcome = await isTold(scene, store, lease);
  if (store.capabilities.transfer?.drain === "full") {
    assert.ok(outcome.held, "a leader that may drain in full still holds its lease");
    assert.equal(outcome.transferTo, named);
    const [cold] = await scene.connect(1);
    await scene.lose(cold, named);
    await scene.pass(scene.leaseMs * 0.3);
    await scene.keep(store, lease);
    await scene.leave(store, lease);
  } else {
    assert.ok(!outcome.held, "a leader that drains in what remains of its lease cannot renew it");
    assert.deepEqual([outcome.reason, outcome.barredUntilExpiry], ["broken", true]);
    const [cold] = await scene.connect(1);
    await scene.lose(cold, named);
    await scene.pass(scene.lapseMs);
  }
}

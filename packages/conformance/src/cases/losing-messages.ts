import assert from "node:assert/strict";
import type { AcquireOutcome } from "@leasehold/core/provider";
import type { Case } from "../case.ts";
import { whileNoting } from "../request-counter.ts";
import { assertStoreError, isTaken, type Ending, type Scenario } from "../scenario.ts";
import type { Faults } from "../store-under-test.ts";
import { begin, isTold } from "./administering.ts";
import { heldLease, vacantLease, wonOrFree } from "./unreliable-network.ts";

/** Cases: requests and replies are lost. */
export const losingMessages: readonly Case[] = [
  {
    id: "unreachable",
    title: "a service that cannot be reached is a StoreError within the time given, for every call",
    needs: ["faults"],
    async run(scene) {
      const { store, faults } = await scene.connectUnreliably();
      const { timeoutMs } = scene.limits;
      const held = await scene.win(store, "a");
      const calls: ReadonlyArray<readonly [string, boolean, () => Promise<unknown>]> = [
        ["read", false, () => scene.look(store)],
        ["acquire", false, () => store.acquire(scene.asking("a", { election: `${scene.election}-new` }))],
        ["renew", true, () => store.renew(held, scene.limits)],
        ["break", false, () => store.break(scene.election, { reason: "why not", ...scene.limits })],
        ["release", true, () => store.release(held, scene.limits)],
      ];
      await faults.loseRequests();
      for (const [name, writes, call] of calls) {
        const ending = await scene.ending(call(), timeoutMs * 1.3);
        assert.ok("error" in ending, `${name} succeeded without a service`);
        assertStoreError(ending.error);
        // A read changes nothing. A write without an answer may have been carried out.
        if (!writes) assert.equal(ending.error.mayHaveBeenApplied, false, `${name} changes nothing before it has read`);
      }
      await faults.heal();
      assert.equal((await scene.look(store))?.term, held.term);
    },
  },
  {
    id: "lost-acquire-request",
    title: "an acquisition that never arrives blocks no candidate",
    needs: ["faults"],
    async run(scene) {
      const { store, faults, other } = await vacantLease(scene);
      await faults.loseRequests();
      const ending = await scene.ending(store.acquire(scene.asking("a")));
      assert.ok("error" in ending || !ending.value.acquired, "an acquisition that never arrived was won");
      if ("error" in ending) assertStoreError(ending.error);
      await faults.heal();
      const lease = await scene.win(other, "b");
      await scene.lose(store, "a");
      await scene.keep(other, lease);
    },
  },
  {
    id: "lost-acquire-reply",
    title: "an acquisition whose reply is lost is won, or open to its own process at once and, through it, to anybody",
    needs: ["faults"],
    async run(scene) {
      const { store, faults, other } = await vacantLease(scene);
      // If an acquisition takes several requests, the last one decides.
      let passing = scene.subject.requests.acquire - 1;
      const loseNext = (): Promise<void> | undefined => (passing-- === 0 ? faults.loseReplies() : undefined);
      await loseNext();
      const acquisition = async (): Promise<AcquireOutcome> => store.acquire(scene.asking("a"));
      const call = whileNoting(
        [scene.election],
        () => void loseNext(),
        () => scene.ending(acquisition()),
      );
      await carriedOut(scene, "an acquisition whose reply is lost", async () => isTaken(await scene.look(other)));
      await faults.heal();
      await wonOrFree(scene, store, other, await call);
    },
  },
  {
    id: "lost-acquire-replies",
    title: "an acquisition of which every reply is lost is won, or open to its own process at once and, through it, to anybody",
    needs: ["faults"],
    async run(scene) {
      const { store, faults, other } = await vacantLease(scene);
      await faults.loseReplies();
      const ending = await scene.ending(store.acquire(scene.asking("a")));
      await faults.heal();
      await wonOrFree(scene, store, other, ending);
    },
  },
  {
    id: "lost-renewal",
    title:
      "a lease outlives a renewal that is lost on its way there or back, and a failed one says that it may have been applied",
    needs: ["faults"],
    async run(scene) {
      const { store, faults, other, lease } = await heldLease(scene);
      for (const lose of [() => faults.loseRequests(), () => faults.loseReplies()]) {
        await lose();
        const ending = await scene.ending(store.renew(lease, scene.limits));
        if ("error" in ending) {
          assertStoreError(ending.error);
          assert.ok(ending.error.mayHaveBeenApplied, "a renewal without a reply may have been applied");
        } else {
          assert.ok(ending.value.held, "a renewal without a reply is no loss");
        }
        await faults.heal();
        await scene.keep(store, lease);
        await scene.lose(other, "b");
      }
      assert.ok((await store.publish(lease, "still here", scene.limits)).held);
      assert.equal((await scene.look(other))?.value, "still here");
      await scene.leave(store, lease);
      await scene.win(other, "b");
    },
  },
  {
    id: "lost-renewal-reply",
    title: "where a failover may undo what a read shows, a renewal whose reply is lost counts from a later write's send",
    needs: ["faults"],
    async run(scene) {
      const { store, faults, lease } = await heldLease(scene);
      if (!store.capabilities.showsUndurable) return;
      await faults.loseReplies();
      await scene.ending(store.renew(lease, scene.limits));
      await faults.heal();
      const sentMs = scene.clock.monotonicMs();
      const { extendedAt } = await scene.keep(store, lease);
      if (extendedAt) assert.ok(extendedAt.monotonicMs >= sentMs, "a renewal that nobody acknowledged has extended the lease");
    },
  },
  {
    id: "lost-publication",
    title: "a publication whose reply is lost costs nobody the lease, and can be made again",
    needs: ["faults"],
    async run(scene) {
      const { store, faults, other, lease } = await heldLease(scene, { value: "before" });
      await faults.loseReplies();
      const call = scene.ending(store.publish(lease, "published", scene.limits));
      await carriedOut(scene, "a publication whose reply is lost", async () => (await scene.look(other))?.value === "published");
      await faults.heal();
      await call;
      await scene.keep(store, lease);
      assert.ok((await store.publish(lease, "again", scene.limits)).held);
      const seen = await scene.look(other);
      assert.deepEqual([seen?.holder, seen?.term, seen?.value], ["a", lease.term, "again"]);
    },
  },
  {
    id: "lost-release-request",
    title: "a release that never arrives can be sent again",
    needs: ["faults"],
    async run(scene) {
      const { store, faults, other, lease } = await heldLease(scene);
      await faults.loseRequests();
      const ending = await scene.ending(store.release(lease, scene.limits));
      assert.ok("error" in ending, "a release that never arrived was confirmed");
      assertStoreError(ending.error);
      await faults.heal();
      await scene.lose(other, "b");
      await scene.leave(store, lease);
      await scene.win(other, "b");
    },
  },
  {
    id: "lost-release-reply",
    title: "a release whose reply is lost has freed the lease, and sent again it does not free the successor's",
    needs: ["faults"],
    async run(scene) {
      const { store, faults, other, lease } = await heldLease(scene);
      const [third] = await scene.connect(1);
      await faults.loseReplies();
      const call = scene.ending(store.release(lease, scene.limits));
      await carriedOut(scene, "a release whose reply is lost", async () => !isTaken(await scene.look(other)));
      const next = await scene.win(other, "b");
      const ending = await call;
      if ("error" in ending) {
        assertStoreError(ending.error);
        assert.ok(ending.error.mayHaveBeenApplied, "a release without a reply may have been applied");
      }
      await faults.heal();
      assert.equal(await store.release(lease, scene.limits), "not-held");
      await scene.keep(other, next);
      await scene.lose(third, "c");
      await scene.lose(store, "a");
    },
  },
  {
    id: "lost-break",
    title: "a break of which a request or a reply is lost reports its outcome, and never ends the successor's term",
    needs: ["faults"],
    async run(scene) {
      const { store: admin, faults } = await scene.connectUnreliably();
      const [a, b] = await scene.connect(2);
      let outlived = 0;
      for (const lose of [() => faults.loseRequests(), () => faults.loseReplies()]) {
        // A break takes a read and a write, or two of each.
        for (let passing = 1; passing <= 4; passing += 1) {
          const lease = await scene.win(a, "a");
          await scene.look(b);
          const { ending, isLost } = await onceLost(scene, passing, lose, faults, () =>
            admin.break(scene.election, { reason: "it hangs", ...scene.limits }),
          );
          if ("error" in ending) {
            assertStoreError(ending.error);
            assert.equal(ending.error.mayHaveBeenApplied, false, "what became of a break was not looked for");
            await scene.keep(a, lease);
          } else {
            if (isLost) outlived += 1;
            assert.deepEqual(ending.value, { broken: true, term: lease.term });
            await scene.isLost(a, lease);
            await scene.lose(b, "b");
          }
          // Release the lease at once, broken or not.
          await scene.leave(a, lease);
          const next = await scene.win(b, "b");
          await scene.keep(b, next);
          await scene.leave(b, next);
        }
      }
      assert.ok(outlived > 0, "no break outlived the loss of a request or of its reply, whichever was lost");
    },
  },
  {
    id: "lost-looks-of-a-transfer",
    title: "a transfer that waits outlives a service that is away for a while",
    needs: ["faults", "transfer"],
    async run(scene) {
      const { store: admin, faults } = await scene.connectUnreliably();
      const [a, named] = await scene.connect(2);
      const lease = await scene.win(a, "a");
      await scene.look(named);
      const transferTimeoutMs = 6 * scene.leaseMs;
      const outcome = begin(admin.transfer(scene.election, "named", { transferTimeoutMs, ...scene.limits }));
      await isTold(scene, a, lease);
      await scene.look(named);
      await faults.loseRequests();
      await scene.pass(scene.lapseMs);
      await scene.win(named, "named");
      await faults.heal();
      assert.equal(await scene.settled(outcome, 4 * scene.leaseMs), "accepted");
    },
  },
];

/** Lets `passing` requests of a call pass, then loses requests or replies until one has failed. Returns how the call ended. */
async function onceLost<T>(
  scene: Scenario,
  passing: number,
  lose: () => Promise<void>,
  faults: Faults,
  call: () => Promise<T>,
): Promise<{ readonly ending: Ending<T>; readonly isLost: boolean }> {
  let passed = 0;
  let isLost = false;
  let faulty: Promise<void> = Promise.resolve();
  const ending = await whileNoting(
    [scene.election],
    ({ outcome }) => {
      passed += 1;
      if (passed === passing) faulty = lose();
      else if (outcome !== "ok") {
        isLost = true;
        faulty = faults.heal();
      }
    },
    () => scene.ending(call(), 12 * scene.limits.timeoutMs + 2 * scene.leaseMs),
  );
  await faulty;
  await faults.heal();
  return { ending, isLost };
}

async function carriedOut(scene: Scenario, what: string, seen: () => Promise<boolean>): Promise<void> {
  await scene.eventually(`${what} is carried out by the service (else faults.loseReplies() loses more than replies)`, seen);
}

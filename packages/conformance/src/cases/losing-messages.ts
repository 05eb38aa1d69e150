import assert from "node:assert/strict";
import type { LeaseStore } from "@leasehold/core";
import type { RenewOutcome } from "@leasehold/core/provider";
import type { Case } from "../case.ts";
import { whileNoting } from "../request-counter.ts";
import { assertLed, assertStoreError, type Ending, type Scene } from "../scene.ts";
import type { Faults, HeldRequests } from "../subject.ts";
import { begin, isTold } from "./administering.ts";

/** Requests and replies that are lost, late or delivered twice. */
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
        // A read changes nothing. A write that was sent and not answered may have been carried out.
        if (!writes) assert.equal(ending.error.mayHaveBeenApplied, false, `${name} changes nothing before it has read`);
      }
      await faults.heal();
      assert.equal((await scene.look(store))?.term, held.term);
    },
  },
  {
    id: "lost-acquire-request",
    title: "an acquisition that never arrives bars nobody",
    needs: ["faults"],
    async run(scene) {
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      await scene.leadOnce(other);
      await scene.look(store);
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
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      await scene.leadOnce(other);
      await scene.look(store);
      await faults.loseReplies();
      const call = scene.ending(store.acquire(scene.asking("a")));
      await carriedOut(scene, "an acquisition whose reply is lost", async () => (await scene.look(other))?.state !== "vacant");
      await faults.heal();
      await wonOrFree(scene, store, other, await call);
    },
  },
  {
    id: "lost-acquire-replies",
    title: "an acquisition of which every reply is lost is won, or open to its own process at once and, through it, to anybody",
    needs: ["faults"],
    async run(scene) {
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      await scene.leadOnce(other);
      await scene.look(store);
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
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      const lease = await scene.win(store, "a");
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
    id: "lost-publication",
    title: "a publication whose reply is lost costs nobody the lease, and can be made again",
    needs: ["faults"],
    async run(scene) {
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      const lease = await scene.win(store, "a", { value: "before" });
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
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      const lease = await scene.win(store, "a");
      await scene.look(other);
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
      const { store, faults } = await scene.connectUnreliably();
      const [other, third] = await scene.connect(2);
      const lease = await scene.win(store, "a");
      await scene.look(other);
      await faults.loseReplies();
      const call = scene.ending(store.release(lease, scene.limits));
      await carriedOut(scene, "a release whose reply is lost", async () => (await scene.look(other))?.state === "vacant");
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
    title: "a break of which a request or a reply is lost says what became of it, and never hits the successor",
    needs: ["faults"],
    async run(scene) {
      const { store: admin, faults } = await scene.connectUnreliably();
      const [a, b] = await scene.connect(2);
      let outlived = 0;
      for (const lose of [() => faults.loseRequests(), () => faults.loseReplies()]) {
        // A break takes a look and a write, or two of each.
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
            await scene.leave(a, lease);
          } else {
            if (isLost) outlived += 1;
            assert.deepEqual(ending.value, { broken: true, term: lease.term });
            await scene.isLost(a, lease);
            await scene.lose(b, "b");
            await scene.pass(scene.lapseMs);
          }
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
  {
    id: "late-acquire",
    title: "an acquisition that arrives after another's win does not take it away",
    needs: ["faults"],
    async run(scene) {
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      await scene.leadOnce(other);
      await scene.look(store);
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
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      await scene.leadOnce(other);
      await scene.look(store);
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
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      const lease = await scene.win(store, "a", { value: "of a" });
      await scene.look(other);
      const { held, sent: renewal } = await sendLate(faults, () =>
        scene.ending(store.renew(lease, scene.limits), 3 * scene.leaseMs),
      );
      await scene.pass(scene.lapseMs);
      const next = await scene.win(other, "b", { value: "of b" });
      await held.letGo();
      const ending = await renewal;
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
      const { store, faults } = await scene.connectUnreliably();
      const [other, third] = await scene.connect(2);
      const lease = await scene.win(store, "a");
      await scene.look(other);
      const { held, sent: release } = await sendLate(faults, () =>
        scene.ending(store.release(lease, scene.limits), 3 * scene.leaseMs),
      );
      await scene.pass(scene.lapseMs);
      const next = await scene.win(other, "b");
      await held.letGo();
      await release;
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
        // Given up before the release is sent, as an elector does it.
        await ending;
        await scene.leave(store, lease);
        await held.letGo();
        const seen = await scene.look(other);
        assert.deepEqual([seen?.state, seen?.value], ["vacant", undefined], `a late ${what} brought a released lease back`);
        await scene.leave(other, await scene.win(other, "b"));
      }
    },
  },
  {
    id: "counts-from-send",
    title: "a lease counts from before the request was sent that won or renewed it",
    needs: ["faults"],
    async run(scene) {
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      await scene.leadOnce(other);
      await scene.look(store);
      const lateMs = scene.limits.timeoutMs / 2;
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
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      await scene.leadOnce(other);
      await scene.look(store);
      await faults.duplicate?.();
      await wonOrFree(scene, store, other, await scene.ending(store.acquire(scene.asking("a"))));
    },
  },
  {
    id: "duplicate-renewal",
    title: "a renewal or a publication that arrives twice leaves the lease with its holder",
    needs: ["duplicates"],
    async run(scene) {
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      const lease = await scene.win(store, "a");
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
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      const lease = await scene.win(store, "a");
      await scene.look(other);
      await faults.duplicate?.();
      await scene.ending(store.release(lease, scene.limits));
      const next = await scene.win(other, "b");
      assert.equal(await store.release(lease, scene.limits), "not-held");
      await scene.keep(other, next);
    },
  },
];

/** Lets so many requests of a call pass, then loses until one has failed; how the call ended. */
async function onceLost<T>(
  scene: Scene,
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

/** Sends what is then on its way until it is let go, while all that is sent later gets through. */
async function sendLate<T>(
  faults: Faults,
  send: () => Promise<T>,
): Promise<{ readonly held: HeldRequests; readonly sent: Promise<T> }> {
  const held = await faults.hold();
  const sent = send();
  sent.catch(() => undefined);
  await held.arrived;
  await faults.heal();
  return { held, sent };
}

async function carriedOut(scene: Scene, what: string, seen: () => Promise<boolean>): Promise<void> {
  await scene.eventually(`${what} is carried out by the service (else faults.loseReplies() loses more than replies)`, seen);
}

/** The acquisition was won; or its process or another one can win it without any time passing, and whoever does is the only one. */
async function wonOrFree(
  scene: Scene,
  store: LeaseStore,
  other: LeaseStore,
  ending: Ending<Awaited<ReturnType<LeaseStore["acquire"]>>>,
): Promise<void> {
  if ("value" in ending && ending.value.acquired) {
    const { lease } = ending.value;
    await scene.keep(store, lease);
    await scene.lose(other, "b");
    await scene.leave(store, lease);
    await scene.win(other, "b");
    return;
  }
  if ("error" in ending) assertStoreError(ending.error);
  const own = await scene.attempt(store, "a");
  if (!own.acquired) {
    await scene.win(other, "b");
    return;
  }
  await scene.keep(store, own.lease);
  await scene.lose(other, "b");
  await scene.leave(store, own.lease);
  await scene.win(other, "b");
}

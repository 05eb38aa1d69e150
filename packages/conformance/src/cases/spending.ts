import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import type { Case } from "../case.ts";
import { eventLoopTurn } from "../real-time.ts";

/** Cases: calls send a fixed number of requests, and can be aborted. */
export const spending: readonly Case[] = [
  {
    id: "request-counts",
    title: "each call sends as many requests as stated",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const facts = scene.subject.requests;
      await scene.leadOnce(b);
      await scene.look(a);
      let lease;
      const acquire = await scene.countRequests(async () => {
        const outcome = await a.acquire(scene.asking("a"));
        assert.ok(outcome.acquired);
        ({ lease } = outcome);
      });
      const holder = lease as unknown as Parameters<typeof scene.keep>[1];
      await scene.look(b);
      const looks: number[] = [];
      const renewals: number[] = [];
      for (let count = 0; count < 3; count += 1) {
        renewals.push(await scene.countRequests(() => scene.keep(a, holder)));
        looks.push(await scene.countRequests(() => scene.look(b)));
        await scene.pass(scene.leaseMs / 3);
      }
      const release = await scene.countRequests(() => scene.leave(a, holder));
      assert.deepEqual(
        { acquire, renewals, looks, release },
        {
          acquire: facts.acquire,
          renewals: [facts.renew, facts.renew, facts.renew],
          looks: [facts.look, facts.look, facts.look],
          release: facts.release,
        },
      );
      const nothing = await scene.countRequests(async () => {
        a.forget?.(holder);
        b.nextLookMs(scene.election, scene.leaseMs);
        await eventLoopTurn();
      });
      assert.equal(nothing, 0, "forget and nextLookMs send nothing");
    },
  },
  {
    id: "abort-read",
    title: "a read that is called off at any moment gives its result or the signal's own reason, and leaves no listener behind",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      await scene.win(a, "a");
      const reason = new Error("the caller's own reason");
      for (let turns = -1; turns < 12; turns += 1) {
        const stopping = new AbortController();
        if (turns < 0) stopping.abort(reason);
        const call = scene.ending(b.read(scene.election, { ...scene.limits, signal: stopping.signal }));
        for (let turn = 0; turn < turns; turn += 1) await eventLoopTurn();
        stopping.abort(reason);
        const ending = await call;
        if ("error" in ending) assert.equal(ending.error, reason, "a read that was called off rejects with the signal's reason");
        else
          assert.ok(turns >= 0 && ending.value?.holder === "a", "a read that had been called off before it began gave a result");
        assert.equal(getEventListeners(stopping.signal, "abort").length, 0, "a read that has ended still listens");
      }
    },
  },
  {
    id: "abort-read-unanswered",
    title: "a read that nobody answers is called off at once",
    needs: ["faults"],
    async run(scene) {
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      await scene.win(other, "b");
      await scene.look(store);
      const held = await faults.hold();
      const stopping = new AbortController();
      const call = scene.ending(store.read(scene.election, { ...scene.limits, signal: stopping.signal }), 0);
      // Without the race this case would wait for ever for a read that ends before anything has arrived.
      await Promise.race([held.arrived, call]);
      const reason = new Error("the caller's own reason");
      stopping.abort(reason);
      const ending = await call;
      assert.ok("error" in ending && ending.error === reason, "it should reject with the signal's reason");
      assert.equal(getEventListeners(stopping.signal, "abort").length, 0, "a read that has ended still listens");
      await faults.heal();
      await held.letGo();
      assert.equal((await scene.look(store))?.holder, "b");
    },
  },
  {
    id: "abort-transfer",
    title: "a transfer that waits is called off at any moment, with the signal's own reason",
    needs: ["transfer"],
    async run(scene) {
      const [a, admin] = await scene.connect(2);
      const lease = await scene.win(a, "a");
      const reason = new Error("the caller's own reason");
      for (const turns of [-1, 0, 1, 3, 30]) {
        const stopping = new AbortController();
        if (turns < 0) stopping.abort(reason);
        const options = { ifTerm: lease.term, transferTimeoutMs: scene.leaseMs, signal: stopping.signal, ...scene.limits };
        const call = scene.ending(admin.transfer(scene.election, "named", options));
        for (let turn = 0; turn < turns; turn += 1) await eventLoopTurn();
        stopping.abort(reason);
        const ending = await call;
        // If an earlier transfer has already ended the term, the next one has nothing to wait for.
        if ("error" in ending)
          assert.equal(ending.error, reason, "a transfer that was called off rejects with the signal's reason");
        else assert.ok(turns >= 0, "a transfer that had been called off before it began gave a result");
        assert.equal(getEventListeners(stopping.signal, "abort").length, 0, "a transfer that has ended still listens");
      }
    },
  },
];

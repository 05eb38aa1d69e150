import assert from "node:assert/strict";
import type { LeaseStore } from "@leasehold/core";
import type { Case } from "../case.ts";
import type { Scenario } from "../scenario.ts";
import { begin, isTold } from "./administering.ts";

const REASON = "nobody came";
/** The longest `transferTimeoutMs` that a store accepts. */
const TEN_MINUTES_MS = 600_000;

/** Cases: a break lifts every block on a lease without a holder. */
export const lifting: readonly Case[] = [
  {
    id: "break-lifts-transfer",
    title: "a break lifts a transfer to a candidate that never comes, once the leader has gone: anyone may acquire at once",
    needs: ["transfer"],
    async run(scene) {
      const [a, other, admin] = await scene.connect(3);
      const lease = await scene.win(a, "a");
      await scene.look(other);
      const asked = new AbortController();
      const options = { transferTimeoutMs: TEN_MINUTES_MS, signal: asked.signal, ...scene.limits };
      void begin(admin.transfer(scene.election, "nobody", options));
      await isTold(scene, a, lease);
      asked.abort();
      await scene.look(other);
      await scene.pass(scene.lapseMs);
      await scene.lose(other, "other");
      await isLifted(scene, admin, other, lease.term);
    },
  },
  {
    id: "break-lifts-transfer-of-a-free-lease",
    title: "a transfer can be asked for while nobody leads, and a break lifts it: anyone may acquire at once",
    needs: ["transfer"],
    async run(scene) {
      const [a, other, admin] = await scene.connect(3);
      const term = await scene.leadOnce(a);
      await scene.look(other);
      await askForTransfer(scene, admin, "nobody");
      for (const store of [other, await scene.place.connect()]) await scene.lose(store, "other");
      await isLifted(scene, admin, other, term);
    },
  },
  {
    id: "break-refused-shows-transfer",
    title: "a break of an earlier term is refused, and its answer shows the later term and the transfer that blocks candidates",
    needs: ["transfer"],
    async run(scene) {
      const [a, other, admin] = await scene.connect(3);
      const earlier = await scene.leadOnce(a);
      const term = await scene.leadOnce(a);
      await askForTransfer(scene, admin, "nobody");
      const outcome = await admin.break(scene.election, { reason: REASON, ifTerm: earlier, ...scene.limits });
      assert.ok(!outcome.broken, `term ${term} was broken by a break of term ${earlier}`);
      assert.equal(outcome.current?.term, term);
      assert.equal(outcome.current?.bar?.kind, "transfer");
      await scene.lose(other, "other");
      await isLifted(scene, admin, other, term);
    },
  },
  {
    id: "transfer-again",
    title: "a transfer to a candidate that never comes gives way to one to another candidate",
    needs: ["transfer"],
    async run(scene) {
      const [a, named, other, admin] = await scene.connect(4);
      await scene.leadOnce(a);
      await askForTransfer(scene, admin, "nobody");
      await scene.lose(named, "named");
      await askForTransfer(scene, admin, "named");
      await scene.lose(other, "other");
      await scene.lose(other, "nobody");
      await scene.win(named, "named");
    },
  },
  {
    id: "break-lifts-hold",
    title: "a break lifts a minimum hold: anyone may acquire at once",
    async run(scene) {
      const [a, other, admin] = await scene.connect(3);
      const lease = await scene.win(a, "a");
      assert.equal(await a.release(lease, { ...scene.limits, holdMs: scene.leaseMs }), "released");
      await scene.lose(other, "other");
      await isLifted(scene, admin, other, lease.term);
    },
  },
  {
    id: "transfer-keeps-hold",
    title: "a transfer of a lease that is held back leaves the hold in force, for the named candidate, too",
    needs: ["transfer"],
    async run(scene) {
      const [a, named, admin] = await scene.connect(3);
      const lease = await scene.win(a, "a");
      assert.equal(await a.release(lease, { ...scene.limits, holdMs: scene.leaseMs }), "released");
      const transferTimeoutMs = 4 * scene.leaseMs;
      const outcome = begin(admin.transfer(scene.election, "named", { transferTimeoutMs, ...scene.limits }));
      await scene.pass(scene.leaseMs * 0.2);
      await scene.lose(named, "named");
      await scene.pass(scene.leaseMs * 0.2);
      await scene.lose(named, "named");
      await scene.pass(scene.lapseMs);
      await scene.lose(a, "a");
      await scene.win(named, "named");
      assert.equal(await scene.settled(outcome, 4 * scene.leaseMs), "accepted");
    },
  },
  {
    id: "transfer-at-most",
    title: "a transfer may keep others away for ten minutes at most: a longer one is refused before any request",
    needs: ["transfer"],
    async run(scene) {
      const [admin] = await scene.connect(1);
      await scene.refuses("transferTimeoutMs of ten minutes and one millisecond", scene.election, () =>
        admin.transfer(scene.election, "b", { transferTimeoutMs: TEN_MINUTES_MS + 1 }),
      );
    },
  },
];

/** Orders a transfer of a lease without a holder, and stops waiting for its outcome. */
async function askForTransfer(scene: Scenario, admin: LeaseStore, candidateId: string): Promise<void> {
  const asked = new AbortController();
  const options = { transferTimeoutMs: TEN_MINUTES_MS, signal: asked.signal, ...scene.limits };
  void begin(admin.transfer(scene.election, candidateId, options));
  const [reader] = await scene.connect(1);
  await scene.eventually(`the lease is kept for '${candidateId}'`, async () => {
    const bar = (await scene.look(reader))?.bar;
    return bar?.kind === "transfer" && bar.candidateId === candidateId;
  });
  asked.abort();
}

/** Checks that a break reports `broken`. After it any candidate may acquire, also one that has not seen the block. */
async function isLifted(scene: Scenario, admin: LeaseStore, other: LeaseStore, term: number): Promise<void> {
  assert.deepEqual(await admin.break(scene.election, { reason: REASON, ...scene.limits }), { broken: true, term });
  const next = await scene.win(other, "other");
  assert.ok(next.term > term, `term ${next.term} follows term ${term}`);
  await scene.leave(other, next);
  const [cold] = await scene.connect(1);
  await scene.leave(cold, await scene.win(cold, "cold"));
}

import assert from "node:assert/strict";
import type { LeaseStore } from "@leasehold/core";
import type { Reservation } from "@leasehold/core/provider";
import type { Case } from "../case.ts";
import type { Scenario } from "../scenario.ts";

/** Cases: minimum holds and reservations keep candidates from a lease without a holder. */
export const takingTurns: readonly Case[] = [
  {
    id: "hold",
    title: "a release with a hold ends the term at once, and keeps everybody out for that long and no longer",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const lease = await scene.win(a, "a");
      assert.equal(await a.release(lease, { ...scene.limits, holdMs: scene.leaseMs }), "released");
      await scene.lose(b, "b");
      await scene.lose(a, "a");
      await scene.isLost(a, lease);
      await scene.pass(scene.leaseMs / 2);
      await scene.lose(b, "b");
      await scene.pass(scene.lapseMs);
      const next = await scene.win(b, "b");
      assert.ok(next.term > lease.term);
      await scene.keep(b, next);
      await scene.leave(b, next);
      await scene.win(a, "a");
    },
  },
  {
    id: "hold-late",
    title: "a hold that comes after its term is over does not block or shorten a successor's",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const lease = await scene.win(a, "a");
      await scene.look(b);
      await scene.pass(scene.lapseMs);
      const next = await scene.win(b, "b");
      assert.equal(await a.release(lease, { ...scene.limits, holdMs: 1_000 }), "not-held");
      await scene.pass(scene.leaseMs / 2);
      await scene.keep(b, next);
      await scene.leave(b, next);
      await scene.win(a, "a");
    },
  },
  {
    id: "reservation",
    title: "a reservation keeps a free lease to its group, also from processes without a memory",
    needs: ["reservation"],
    async run(scene) {
      const [a] = await scene.connect(1);
      await reserveFor(scene, a, "west");
      await scene.lose(a, "a", turnOf(scene, "east"));
      await scene.lose(await scene.place.connect(), "b", turnOf(scene, "east"));
      await scene.lose(await scene.place.connect(), "nobody's", { expiry: "store-clock" });
      const cold = await scene.place.connect();
      const lease = await scene.win(cold, "c", turnOf(scene, "west"));
      await scene.lose(a, "a", turnOf(scene, "west"));
      await scene.leave(cold, lease);
    },
  },
  {
    id: "reservation-ends",
    title: "a reservation ends by the store's own clock, for processes without a memory too, and then it is another group's",
    needs: ["reservation"],
    async run(scene) {
      const [a] = await scene.connect(1);
      const { durationMs } = await reserveFor(scene, a, "west");
      await scene.pass(durationMs / 2);
      await scene.lose(await scene.place.connect(), "b", turnOf(scene, "east"));
      await scene.pass(durationMs * 0.7 + 2 * (a.capabilities.reservation?.toleranceMs ?? 0));
      const cold = await scene.place.connect();
      await scene.leave(cold, await scene.win(cold, "b", turnOf(scene, "east")));
      await scene.lose(await scene.place.connect(), "a", turnOf(scene, "west"));
    },
  },
  {
    id: "reservation-broken",
    title: "an administrator's break ends the reservation of a free lease",
    needs: ["reservation"],
    async run(scene) {
      const [a, admin] = await scene.connect(2);
      await reserveFor(scene, a, "west");
      const outcome = await admin.break(scene.election, { reason: "west is down" });
      assert.ok(outcome.broken, `the reservation was not broken: ${JSON.stringify(outcome)}`);
      await scene.win(await scene.place.connect(), "b", turnOf(scene, "east"));
    },
  },
];

function turnOf(scene: Scenario, group: string): { readonly reservation: Reservation; readonly expiry: "store-clock" } {
  return { reservation: { group, durationMs: 2 * scene.leaseMs }, expiry: "store-clock" };
}

/** Lets a candidate of the group lead and release, which leaves a reservation. */
async function reserveFor(scene: Scenario, store: LeaseStore, group: string): Promise<Reservation> {
  assert.ok(
    store.capabilities.reservation,
    "the store has no clock to judge a reservation by, and lacks.reservation does not say why",
  );
  const turn = turnOf(scene, group);
  await scene.leave(store, await scene.win(store, group, turn));
  return turn.reservation;
}

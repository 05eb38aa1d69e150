import assert from "node:assert/strict";
import type { OccurrenceStore } from "@leasehold/core/provider";
import type { Case } from "../case.ts";
import { storeClockLatenessMs, type Scenario } from "../scenario.ts";

const DAY_MS = 86_400_000;

/** Cases: each occurrence of a schedule is claimed like a lease, and can be completed once and for good. */
export const completing: readonly Case[] = [
  {
    id: "occurrence-done",
    title: "an occurrence that is done is never acquired again, by any process at any time",
    needs: ["occurrences"],
    async run(scene) {
      const [a, b] = [await occurrences(scene), await occurrences(scene)];
      const claim = await scene.win(a, "a");
      await scene.lose(b, "b");
      assert.equal(await a.complete(claim, scene.limits), "released");
      for (const store of [a, b, await occurrences(scene)]) {
        await scene.lose(store, "c", { expiry: "store-clock" });
        assert.deepEqual((await scene.look(store))?.bar, { kind: "done" });
      }
      await scene.isLost(a, claim);
      await scene.pass(scene.lapseMs);
      for (const store of [a, b, await occurrences(scene)]) await scene.lose(store, "c", { expiry: "store-clock" });
    },
  },
  {
    id: "occurrence-completion",
    title: "what is recorded with the end of an occurrence is read by every process, and refused if it is too large",
    needs: ["occurrences"],
    async run(scene) {
      const [a, b] = [await occurrences(scene), await occurrences(scene)];
      const claim = await scene.win(a, "a", { value: "the claim's" });
      const completion = { result: { text: "é\u0000𝄞\"'%", list: [1, null, true, {}] } };
      const tooLarge = { result: "r".repeat(a.capabilities.maxValueBytes) };
      await scene.refuses("a completion that is too large", scene.election, () =>
        a.complete(claim, { ...scene.limits, completion: tooLarge }),
      );
      await scene.keep(a, claim);
      assert.equal(await a.complete(claim, { ...scene.limits, completion }), "released");
      for (const store of [a, b, await occurrences(scene)]) {
        assert.deepEqual((await scene.look(store))?.bar, { kind: "done", completion });
        await scene.lose(store, "c", { expiry: "store-clock" });
      }
    },
  },
  {
    id: "occurrence-failed",
    title: "an occurrence that was left undone is open for the next attempt, which has the next number",
    needs: ["occurrences"],
    async run(scene) {
      const [a, b] = [await occurrences(scene), await occurrences(scene)];
      const first = await scene.win(a, "a");
      await scene.leave(a, first);
      const second = await scene.win(b, "b");
      assert.deepEqual([first.term, second.term, (await scene.look(a))?.term], [1, 2, 2]);
      await scene.lose(a, "a");
      assert.equal(await b.complete(second, scene.limits), "released");
      await scene.lose(a, "a");
    },
  },
  {
    id: "occurrence-taken-over",
    title: "a claim that was not renewed is taken over, also by a process without a memory, and cannot be completed after that",
    needs: ["occurrences", "store-clock"],
    async run(scene) {
      const a = await occurrences(scene);
      const claim = await scene.win(a, "a");
      await scene.pass(scene.leaseMs / 2);
      await scene.lose(await occurrences(scene), "b", { expiry: "store-clock" });
      await scene.pass(scene.leaseMs * 0.7 + storeClockLatenessMs(a));
      const b = await occurrences(scene);
      const next = await scene.win(b, "b", { expiry: "store-clock" });
      assert.equal(next.term, claim.term + 1);
      assert.equal(await a.complete(claim, scene.limits), "not-held");
      await scene.keep(b, next);
      assert.equal(await b.complete(next, scene.limits), "released");
    },
  },
  {
    id: "occurrence-contention",
    title: "of many who claim an occurrence at once, one gets it",
    needs: ["occurrences"],
    async run(scene) {
      const stores = await Promise.all(Array.from({ length: 6 }, () => occurrences(scene)));
      await Promise.all(stores.map((store) => scene.look(store)));
      const claims = stores.map((store, index) => store.acquire(scene.asking(`candidate-${index}`)));
      const outcomes = await scene.settled(Promise.all(claims));
      assert.equal(outcomes.filter(({ acquired }) => acquired).length, 1, "an occurrence must be claimed by exactly one");
    },
  },
  {
    id: "occurrences-apart",
    title: "an election and its occurrences, and those of two elections, have nothing to do with one another",
    needs: ["occurrences"],
    async run(scene) {
      const [leases] = await scene.connect(1);
      const mine = await occurrences(scene);
      const others = await occurrences(scene, `${scene.election}-other`);
      const claim = await scene.win(mine, "a");
      assert.equal(await mine.complete(claim, scene.limits), "released");
      assert.equal(await scene.look(leases), undefined, "an occurrence shows as an election");
      assert.equal(await scene.look(others), undefined, "an occurrence shows in another election");
      const lease = await scene.win(leases, "a");
      assert.equal("complete" in leases, false, "an election can be completed");
      await scene.keep(leases, lease);
      await scene.win(others, "a");
    },
  },
];

/**
 * Returns the store of a schedule's occurrences, in one more process. In this store, the scene's election name is the name of one
 * occurrence.
 */
async function occurrences(scene: Scenario, election: string = scene.election): Promise<OccurrenceStore> {
  const store = await scene.place.connect();
  const kept = store.occurrences?.(election, { retentionMs: DAY_MS });
  assert.ok(kept, "the store keeps no occurrences, and lacks.occurrences does not say why");
  return kept;
}

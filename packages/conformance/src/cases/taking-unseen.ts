import assert from "node:assert/strict";
import type { LeaseStore } from "@leasehold/core";
import type { AcquireOutcome, AcquireRequest, Lease } from "@leasehold/core/provider";
import type { Case } from "../case.ts";
import type { Scene } from "../scene.ts";
import { handOver } from "./lifting.ts";
import { sendLate, vacantLease, wonOrFree } from "./unreliable-network.ts";

/** Attempts without a look before them, where the service decides by itself that an election is open. */
export const takingUnseen: readonly Case[] = [
  {
    id: "unseen-open",
    title: "an election that is new or was released is taken unseen, by one request, and terms rise",
    needs: ["unseen"],
    async run(scene) {
      let term = 0;
      for (let count = 0; count < 3; count += 1) {
        const [store, other] = await scene.connect(2);
        await scene.look(store, {}, `${scene.election}-warm-up`);
        let lease: Lease | undefined;
        const sent = await scene.countRequests(async () => (lease = await winUnseen(scene, store, "a", { value: `${count}` })));
        assert.ok(lease && lease.term > term, `term ${lease?.term} follows term ${term}`);
        assert.equal(sent, 1, "it is one request");
        ({ term } = lease);
        const seen = await scene.look(other);
        assert.deepEqual([seen?.term, seen?.holder, seen?.value], [term, "a", `${count}`]);
        await scene.lose(other, "b");
        await scene.keep(store, lease);
        await scene.leave(store, lease);
      }
      const [store] = await scene.connect(1);
      assert.equal((await winUnseen(scene, store, "a", { minTerm: term + 1, aboveTerm: term })).term, term + 1);
    },
  },
  {
    id: "unseen-barred",
    title: "nothing is taken unseen that is led, held back, kept for others or done, and the attempt disturbs nothing",
    needs: ["unseen"],
    async run(scene) {
      const [a] = await scene.connect(1);
      const lease = await scene.win(a, "a", { value: "mine" });
      await refusesUnseen(scene, { holder: "a" });
      await scene.keep(a, lease);
      await a.release(lease, { ...scene.limits, holdMs: 60_000 });
      await refusesUnseen(scene, { bar: "hold" });
      await a.break(scene.election, { reason: "lift the hold", ...scene.limits });
      await handOver(scene, a, "c");
      await refusesUnseen(scene, { bar: "transfer" });
      await a.break(scene.election, { reason: "lift the hand-over", ...scene.limits });
      const [b] = await scene.connect(1);
      const next = await winUnseen(scene, b, "b");
      await scene.keep(b, next);
      await b.break(scene.election, { reason: "wait it out", ...scene.limits });
      await refusesUnseen(scene, { holder: "b" });
    },
  },
  {
    id: "unseen-terms",
    title: "nothing is taken unseen whose next term would be too low, and no record is made where terms were seen",
    needs: ["unseen"],
    async run(scene) {
      const [a, b] = await scene.connect(2);
      assert.equal((await scene.attemptUnseen(a, "a", { aboveTerm: 7 })).acquired, false);
      assert.equal(await scene.look(b), undefined, "a record was made in place of one that was lost");
      const term = await scene.leadOnce(b);
      for (const limits of [{ aboveTerm: term + 7 }, { minTerm: term + 7 }]) {
        const [c] = await scene.connect(1);
        const outcome = await scene.attemptUnseen(c, "c", limits);
        assert.equal(outcome.acquired, false, `a term was given below ${JSON.stringify(limits)}`);
      }
      scene.isFree(await scene.look(b), term);
    },
  },
  {
    id: "unseen-reservation",
    title: "what is kept for a group is not taken unseen",
    needs: ["unseen", "reservation"],
    async run(scene) {
      const [a] = await scene.connect(1);
      const reservation = { group: "east", durationMs: 60_000 };
      await scene.leave(a, await scene.win(a, "a", { reservation }));
      await refusesUnseen(scene, { bar: "reservation" });
      await refusesUnseen(scene, { bar: "reservation" }, { reservation: { group: "west", durationMs: 60_000 } });
      await refusesUnseen(scene, { bar: "reservation" }, { reservation });
    },
  },
  {
    id: "unseen-occurrence",
    title: "an occurrence is claimed unseen while it is not done, and never after that",
    needs: ["unseen", "occurrences"],
    async run(scene) {
      const claims = async () => {
        const store = (await scene.place.connect()).occurrences?.(scene.election, { retentionMs: 86_400_000 });
        assert.ok(store, "the store keeps no occurrences, and lacks.occurrences does not say why");
        return store;
      };
      const [a, b] = [await claims(), await claims()];
      const first = await winUnseen(scene, a, "a");
      await scene.leave(a, first);
      const second = await winUnseen(scene, b, "b");
      assert.deepEqual([first.term, second.term], [1, 2]);
      await b.complete(second, scene.limits);
      const outcome = await scene.attemptUnseen(await claims(), "c");
      assert.ok(!outcome.acquired, "an occurrence was claimed that is done");
      assert.deepEqual(outcome.current?.bar, { kind: "done" });
    },
  },
  {
    id: "unseen-contention",
    title: "of many that take it unseen at one moment one wins, and the others are told who",
    needs: ["unseen"],
    async run(scene) {
      const stores = await scene.connect(8);
      for (let round = 0; round < 2; round += 1) {
        const election = `${scene.election}-${round}`;
        if (round === 1) {
          const [first] = await scene.connect(1);
          await scene.leave(first, await winUnseen(scene, first, "first", { election }));
        }
        const outcomes = await Promise.all(stores.map((store, index) => scene.attemptUnseen(store, `${index}`, { election })));
        const winners = outcomes.filter(({ acquired }) => acquired);
        assert.equal(winners.length, 1, `${winners.length} of them have won`);
      }
    },
  },
  {
    id: "unseen-foreign",
    title: "what is not a lease is never taken unseen: it is an error, and is left as it was",
    needs: ["unseen", "foreign"],
    async run(scene) {
      for (const what of ["foreign", "newer-schema"] as const) {
        const planted = `${scene.election}-${what}`;
        await scene.place.plant?.(planted, what);
        const before = await scene.place.dig?.(planted);
        const [a] = await scene.connect(1);
        const ending = await scene.ending(scene.attemptUnseen(a, "a", { election: planted }));
        assert.ok(
          "error" in ending && (ending.error as { code?: unknown }).code === "FOREIGN_RECORD",
          `it took a ${what} record`,
        );
        assert.deepEqual(await scene.place.dig?.(planted), before, `a ${what} record was changed`);
      }
    },
  },
  {
    id: "unseen-fence",
    title: "the fence passes who has taken the lease unseen, for as long as that leads",
    needs: ["unseen", "fence"],
    async run(scene) {
      const text = await scene.guard();
      for (const by of ["first", "second"]) {
        const [store] = await scene.connect(1);
        const lease = await winUnseen(scene, store, by);
        const leadership = lease as unknown as Parameters<typeof text.write>[0];
        assert.equal(await text.write(leadership, by), true);
        await scene.leave(store, lease);
        assert.equal(await text.write(leadership, "too late"), false);
        assert.equal(await text.read(), by);
      }
    },
  },
  {
    id: "unseen-lost-reply",
    title: "one whose reply is lost is won, or open to its own process at once and, through it, to anybody",
    needs: ["unseen", "faults"],
    async run(scene) {
      const { store, faults, other } = await vacantLease(scene);
      await faults.loseReplies();
      const ending = await scene.ending(scene.attemptUnseen(store, "a"));
      await faults.heal();
      await wonOrFree(scene, store, other, ending);
    },
  },
  {
    id: "unseen-late",
    title: "one that arrives when another leads takes nothing away; when nobody does, it is open to its own process at once",
    needs: ["unseen", "faults"],
    async run(scene) {
      const { store, faults, other } = await vacantLease(scene);
      const first = await sendLate(faults, () => scene.attemptUnseen(store, "a"));
      const next = await scene.win(other, "b");
      await first.held.letGo();
      const ending = await scene.ending(first.sent);
      assert.ok("error" in ending || !ending.value.acquired, "it was won, and came second");
      await scene.keep(other, next);
      await scene.leave(other, next);
      await scene.look(store);

      const { held, sent } = await sendLate(faults, () => scene.attemptUnseen(store, "a"));
      await scene.ending(sent);
      await scene.leave(other, await scene.win(other, "b"));
      await scene.look(store);
      await held.letGo();
      await scene.leave(store, await scene.win(store, "a"));
      await scene.win(other, "b");
    },
  },
  {
    id: "unseen-twice",
    title: "one that arrives twice is won once, or open to its own process at once",
    needs: ["unseen", "duplicates"],
    async run(scene) {
      const { store, faults, other } = await vacantLease(scene);
      await faults.duplicate?.();
      await wonOrFree(scene, store, other, await scene.ending(scene.attemptUnseen(store, "a")));
    },
  },
];

async function winUnseen(
  scene: Scene,
  store: LeaseStore,
  candidateId: string,
  options: Partial<AcquireRequest> = {},
): Promise<Lease> {
  const outcome = await scene.attemptUnseen(store, candidateId, options);
  assert.ok(outcome.acquired, `'${candidateId}' should have taken the lease; it was told ${JSON.stringify(outcome)}`);
  return outcome.lease;
}

/** A process that has seen nothing is refused, and told why; its next attempt needs no look of its own. */
async function refusesUnseen(
  scene: Scene,
  told: { readonly holder?: string; readonly bar?: string },
  options: Partial<AcquireRequest> = {},
): Promise<void> {
  const [store, witness] = await scene.connect(2);
  const before = await scene.look(witness);
  const outcome: AcquireOutcome = await scene.attemptUnseen(store, "unseen", options);
  assert.ok(!outcome.acquired, `a lease was taken unseen that is barred: ${JSON.stringify(told)}`);
  assert.ok(outcome.proven, "the service has refused a write for its condition, which proves the right to write");
  if (told.holder !== undefined) assert.equal(outcome.current?.holder, told.holder);
  if (told.bar !== undefined) assert.equal(outcome.current?.bar?.kind, told.bar);
  const after = await scene.look(witness);
  assert.deepEqual([after?.term, after?.holder, after?.value], [before?.term, before?.holder, before?.value]);
}

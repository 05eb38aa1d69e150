import assert from "node:assert/strict";
import { isLeaseholdError } from "@leasehold/core";
import type { Case } from "../case.ts";
import { assertLed } from "../scenario.ts";

/** Cases: a candidate acquires a free lease, and does not acquire one that is held. */
export const acquiring: readonly Case[] = [
  {
    id: "acquire-on-nothing",
    title: "the first candidate acquires where there was no record, and everybody sees who it is",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      assert.equal(await scene.look(b), undefined, "there must be no record before anybody has acquired");
      assert.equal(await scene.look(b), undefined, "reading must not make a record");
      const lease = await scene.win(a, "a", { value: "http://a:8080" });
      const { election, candidateId, term, termId, leaseDurationMs, grantedAt } = lease;
      assert.deepEqual(
        { election, candidateId, leaseDurationMs },
        { election: scene.election, candidateId: "a", leaseDurationMs: scene.leaseMs },
      );
      assert.ok(Number.isSafeInteger(term) && term >= 1, `the first term is ${term}`);
      assert.ok(typeof termId === "string" && termId !== "", "a lease must have a termId");
      assert.ok(Number.isFinite(grantedAt.monotonicMs) && Number.isFinite(grantedAt.wallMs), "grantedAt must be an instant");
      const seen = await scene.look(b);
      assertLed(seen, "another process's first look");
      assert.deepEqual(
        { election: seen.election, term: seen.term, holder: seen.holder, value: seen.value },
        { election: scene.election, term, holder: "a", value: "http://a:8080" },
      );
      assert.equal(seen.leaseDurationMs, scene.leaseMs);
    },
  },
  {
    id: "acquire-while-held",
    title: "no candidate acquires a lease that is held, and the attempt disturbs nothing",
    async run(scene) {
      const [a, b, c] = await scene.connect(3);
      const lease = await scene.win(a, "a", { value: "mine" });
      await scene.look(b);
      for (const store of [b, c, b]) {
        const outcome = await scene.attempt(store, "b", { value: "not mine" });
        assert.equal(outcome.acquired, false);
        if (!outcome.acquired && outcome.current) {
          assertLed(outcome.current, "the outcome of a losing attempt");
          assert.equal(outcome.current.term, lease.term);
        }
      }
      await scene.keep(a, lease);
      const seen = await scene.look(b);
      assert.deepEqual([seen?.term, seen?.holder, seen?.value], [lease.term, "a", "mine"]);
    },
  },
  {
    id: "acquire-after-release",
    title: "a released lease is free for anyone at once, and the next term is higher",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const first = await scene.win(a, "a");
      await scene.look(b);
      await scene.leave(a, first);
      const second = await scene.win(b, "b");
      assert.ok(second.term > first.term, `term ${second.term} follows term ${first.term}`);
      assert.notEqual(second.termId, first.termId, "every acquisition has a termId of its own");
      assert.equal((await scene.look(a))?.term, second.term, "everybody must see the term that was won");
      await scene.leave(b, second);
      const third = await scene.win(b, "b");
      assert.ok(third.term > second.term, `term ${third.term} follows term ${second.term}`);
      assert.notEqual(third.termId, second.termId, "every acquisition has a termId of its own");
    },
  },
  {
    id: "shared-candidate-id",
    title: "two processes of the same candidateId do not share a lease",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const lease = await scene.win(a, "twin");
      await scene.look(b);
      await scene.lose(b, "twin");
      await scene.lose(a, "twin");
      await scene.keep(a, lease);
      await scene.leave(a, lease);
      const next = await scene.win(b, "twin");
      await scene.isLost(a, lease);
      assert.equal(await a.release(lease, scene.limits), "not-held");
      await scene.keep(b, next);
    },
  },
  {
    id: "two-elections",
    title: "two elections do not disturb each other",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const other = `${scene.election}-other`;
      const mine = await scene.win(a, "a", { value: "of the one" });
      const its = await scene.win(b, "b", { election: other, value: "of the other" });
      await scene.lose(a, "a", { election: other });
      await scene.keep(a, mine);
      assert.deepEqual(await b.break(scene.election, { reason: "only this one", immediate: true, ...scene.limits }), {
        broken: true,
        term: mine.term,
      });
      await scene.keep(b, its);
      const seen = await scene.look(a, {}, other);
      assert.deepEqual([seen?.holder, seen?.value, seen?.term], ["b", "of the other", its.term]);
      await scene.leave(b, its);
      const next = await scene.win(b, "b");
      assert.ok(next.term > mine.term);
    },
  },
  {
    id: "min-term",
    title: "the new term is at least minTerm",
    needs: ["record"],
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const first = await scene.win(a, "a", { minTerm: 1_000 });
      assert.equal(first.term, 1_000);
      await scene.leave(a, first);
      const second = await scene.win(b, "b", { minTerm: 5 });
      assert.ok(second.term > 1_000, "a lower minTerm must not lower the term");
      await scene.leave(b, second);
      const large = Number.MAX_SAFE_INTEGER - 10;
      const third = await scene.win(a, "a", { minTerm: large });
      assert.equal(third.term, large, "terms up to 2^53 - 1 are whole numbers everywhere");
      assert.equal((await scene.look(b))?.term, large);
      await scene.refuses("minTerm 0", scene.election, () => a.acquire(scene.asking("a", { minTerm: 0 })));
      await scene.refuses("minTerm 1.5", scene.election, () => a.acquire(scene.asking("a", { minTerm: 1.5 })));
    },
  },
  {
    id: "above-term",
    title: "a term that would not be above the highest seen is TermRegressedError, and nothing is written",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const term = await scene.leadOnce(a);
      await scene.look(b);
      // Other clients may raise terms, unless the store counts them by itself.
      const higher = term + 1_000_000;
      for (const store of [a, b]) {
        const ending = await scene.ending(store.acquire(scene.asking("a", { aboveTerm: higher })));
        assert.ok("error" in ending, "a record whose terms have gone back was acquired");
        assert.ok(isLeaseholdError(ending.error, "TERM_REGRESSED"), `it should be TERM_REGRESSED; it is ${String(ending.error)}`);
      }
      scene.isFree(await scene.look(b), term);
      if (!scene.keepsRecord) return;
      const next = await scene.win(b, "b", { aboveTerm: higher, minTerm: higher + 1 });
      assert.equal(next.term, higher + 1, "an administrator's minTerm leads out of it");
    },
  },
];

import assert from "node:assert/strict";
import type { LeaseStore } from "@leasehold/core";
import type { AcquireOutcome, Lease } from "@leasehold/core/provider";
import type { Case } from "../case.ts";
import { SeededRandom } from "@leasehold/core/testing";
import { assertStoreError, type Scenario } from "../scenario.ts";

/**
 * The operations between two moves of the clock. A moved service may run ahead of other processes by the real time of these
 * operations.
 */
const MOVED_EVERY = 10;
const SEED = 20_261_121;

/** Cases: each term has one leader, and terms always rise. */
export const countingTerms: readonly Case[] = [
  {
    id: "terms-rise",
    title: "terms rise strictly, with one termId each, over a thousand mixed operations of three processes",
    async run(scene) {
      const { rounds } = scene;
      const ledger = new TermLedger(scene, await scene.connect(3));
      for (let operation = 0; operation < rounds; operation += 1) {
        if (operation % MOVED_EVERY === 0) await scene.pass(1);
        await ledger.step(operation);
      }
      assert.ok(ledger.terms > rounds / 10, `only ${ledger.terms} terms in ${rounds} operations`);
    },
  },
  {
    id: "contention",
    title: "of fifty attempts at once exactly one succeeds, round after round",
    async run(scene) {
      const stores = await scene.connect(10);
      let lastTerm = 0;
      for (let round = 0; round < 5; round += 1) {
        await Promise.all(stores.map((store) => scene.look(store)));
        const attempts = Array.from({ length: 50 }, async (_, index) => {
          const store = stores[index % stores.length] as LeaseStore;
          return { store, outcome: await store.acquire(scene.asking(`candidate ${index}`)) };
        });
        const winners: Array<{ readonly store: LeaseStore; readonly lease: Lease }> = [];
        for (const ending of await Promise.all(attempts.map((attempt) => scene.ending(attempt)))) {
          if ("error" in ending) assertStoreError(ending.error);
          else if (ending.value.outcome.acquired) winners.push({ store: ending.value.store, lease: ending.value.outcome.lease });
        }
        assert.equal(winners.length, 1, `in round ${round} ${winners.length} of fifty candidates won`);
        const [{ store, lease }] = winners as [(typeof winners)[0]];
        assert.ok(lease.term > lastTerm, `term ${lease.term} follows term ${lastTerm}`);
        lastTerm = lease.term;
        for (const reader of stores) {
          const seen = await scene.look(reader);
          assert.deepEqual([seen?.holder, seen?.term], [lease.candidateId, lease.term]);
        }
        await scene.keep(store, lease);
        await scene.leave(store, lease);
      }
    },
  },
];

/** Runs random operations one after another, checks each result, and records the terms. */
class TermLedger {
  readonly #scene: Scenario;
  readonly #stores: readonly LeaseStore[];
  readonly #random = new SeededRandom(SEED);
  readonly #termIds = new Map<number, string>();
  readonly #old: Array<{ readonly store: LeaseStore; readonly lease: Lease }> = [];
  #present: { readonly store: LeaseStore; readonly lease: Lease } | undefined;
  #lastTerm = 0;
  #expiries = 0;

  constructor(scene: Scenario, stores: readonly LeaseStore[]) {
    this.#scene = scene;
    this.#stores = stores;
  }

  get terms(): number {
    return this.#termIds.size;
  }

  async step(operation: number): Promise<void> {
    const present = this.#present;
    const dice = this.#random.next();
    const about = `operation ${operation} of seed ${SEED}`;
    const old = this.#old[Math.floor(this.#random.next() * this.#old.length)];
    const store = this.#stores[Math.floor(this.#random.next() * this.#stores.length)] as LeaseStore;
    if (dice < 0.05 && old) {
      assert.equal(await old.store.release(old.lease, this.#scene.limits), "not-held", `${about}: an old term was released`);
    } else if (dice < 0.1 && old) {
      await this.#scene.isLost(old.store, old.lease);
    } else if (!present || dice < 0.3) {
      await this.#acquire(store, about);
    } else if (dice < 0.55) {
      await this.#scene.keep(present.store, present.lease);
    } else if (dice < 0.7) {
      const value = `value ${operation}`;
      assert.ok((await present.store.publish(present.lease, value, this.#scene.limits)).held, `${about}: a publication`);
      assert.equal((await this.#scene.look(store))?.value, value, about);
    } else if (dice < 0.9) {
      await this.#scene.leave(present.store, present.lease);
      this.#ended();
    } else if (dice < 0.99 || this.#expiries >= 3) {
      const outcome = await store.break(this.#scene.election, { reason: about, immediate: true, ...this.#scene.limits });
      assert.deepEqual(outcome, { broken: true, term: present.lease.term }, about);
      this.#ended();
    } else {
      // No process renews, so a process that has watched takes over.
      this.#expiries += 1;
      for (const one of this.#stores) await this.#scene.look(one);
      await this.#scene.pass(this.#scene.lapseMs);
      this.#ended();
      await this.#acquire(store, about);
    }
    const seen = await this.#scene.look(store);
    if (this.#scene.keepsRecord || this.#present)
      assert.equal(seen?.term ?? 0, this.#lastTerm, `${about}: the term that is read`);
    else this.#scene.isFree(seen, this.#lastTerm);
  }

  async #acquire(store: LeaseStore, about: string): Promise<void> {
    const candidateId = `candidate ${this.#stores.indexOf(store)}`;
    const outcome: AcquireOutcome = await this.#scene.attempt(store, candidateId);
    assert.equal(outcome.acquired, this.#present === undefined, `${about}: whether the lease was acquired`);
    if (!outcome.acquired) return;
    const { term, termId } = outcome.lease;
    assert.ok(term > this.#lastTerm, `${about}: term ${term} follows term ${this.#lastTerm}`);
    assert.ok(![...this.#termIds.values()].includes(termId), `${about}: the termId of term ${term} has been used before`);
    this.#termIds.set(term, termId);
    this.#lastTerm = term;
    this.#present = { store, lease: outcome.lease };
  }

  #ended(): void {
    if (this.#present) this.#old.push(this.#present);
    this.#present = undefined;
  }
}

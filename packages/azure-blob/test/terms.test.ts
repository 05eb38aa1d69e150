import type { BlobLeaseStore } from "@leasehold/azure-blob";
import type { Lease } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { LAPSE_MS } from "./blob-world.ts";
import { test } from "./world-test.ts";

const SEED = 20_261_121;
const OPERATIONS = 100;

describe("the term", () => {
  test("rises by one at each acquisition, through release, expiry and break", async ({ world }) => {
    const [a, b] = [world.store(), world.store()];
    const first = await win(a);
    await a.release(first, LIMITS);
    const second = await win(b);
    await world.forward(LAPSE_MS);
    const third = await win(a);
    await b.break(ELECTION, { reason: "test" });
    await world.forward(LAPSE_MS);
    const fourth = await win(b);
    await b.break(ELECTION, { reason: "test", immediate: true });
    const fifth = await win(a);

    const leases = [first, second, third, fourth, fifth];
    expect(leases.map(({ term }) => term)).toEqual([1, 2, 3, 4, 5]);
    expect(new Set(leases.map(({ termId }) => termId)).size).toBe(5);
  });

  test("does not change by renewal or publication", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    await store.renew(lease, LIMITS);
    await store.publish(lease, "http://a", LIMITS);

    const { metadata } = await world.blob.getProperties();
    expect(metadata).toMatchObject({ leasehold_term: "1", leasehold_termid: lease.termId });
  });

  test("starts at what an administrator sets, and never goes below it", async ({ world }) => {
    const store = world.store();
    const first = await win(store, { minTerm: 41 });
    await store.release(first, LIMITS);
    const second = await win(store, { minTerm: 41 });

    expect([first.term, second.term]).toEqual([41, 42]);
  });

  test("never goes back: a store that shows less than was seen gives no lease, and nothing is written", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    const before = await world.blob.getProperties();

    const error = await world.witness.failureOf(world.store().acquire(acquiring({ aboveTerm: 7 })));

    expect(error).toMatchObject({ code: "TERM_REGRESSED", foundTerm: 1, highestTermSeen: 7 });
    await expect(world.blob.getProperties()).resolves.toMatchObject({ etag: before.etag, leaseState: "available" });
    // What an administrator sets heals it.
    await expect(win(store, { aboveTerm: 7, minTerm: 8 })).resolves.toMatchObject({ term: 8 });
  });

  test(`is above every earlier one, and held by one at a time, in ${OPERATIONS} mixed operations (seed ${SEED})`, async ({
    world,
  }) => {
    const random = new VirtualClock(SEED);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random.random() * from.length)]!;
    const stores = [world.store(), world.store(), world.store()];
    let term = 0;
    let held: { readonly store: BlobLeaseStore; readonly lease: Lease; untilMs: number } | undefined;
    /** When the last lease has run out for certain, whoever broke it. */
    let freeMs = 0;
    const done: string[] = [];

    const operations: Record<string, () => Promise<void>> = {
      async acquire() {
        const store = pick(stores);
        const nowMs = world.clock.monotonicMs();
        const outcome = await store.acquire(acquiring());
        expect(outcome.acquired).toBe(nowMs > freeMs);
        if (!outcome.acquired) return;
        term += 1;
        expect(outcome.lease.term).toBe(term);
        freeMs = nowMs + LEASE_MS;
        held = { store, lease: outcome.lease, untilMs: freeMs };
      },
      async renew() {
        if (!held) return;
        const outcome = await held.store.renew(held.lease, LIMITS);
        if (!outcome.held) {
          held = undefined;
          return;
        }
        freeMs = world.clock.monotonicMs() + LEASE_MS;
        held.untilMs = freeMs;
      },
      async publish() {
        if (!held || world.clock.monotonicMs() > held.untilMs) return;
        await held.store.publish(held.lease, `value ${done.length}`, LIMITS);
      },
      async release() {
        if (!held) return;
        await held.store.release(held.lease, LIMITS);
        freeMs = 0;
        held = undefined;
      },
      async expire() {
        await world.forward(LAPSE_MS);
      },
      async wait() {
        await world.forward(6_000);
      },
      async break() {
        await pick(stores).break(ELECTION, { reason: "test" });
      },
      async breakNow() {
        if ((await pick(stores).break(ELECTION, { reason: "test", immediate: true })).broken) freeMs = 0;
      },
    };
    // Acquisitions and waits are half of what happens, or little else could.
    const names = [...Object.keys(operations), "acquire", "acquire", "acquire", "wait", "wait", "renew"];

    for (let count = 0; count < OPERATIONS; count += 1) {
      const name = pick(names);
      done.push(name);
      await operations[name]!();
      const { metadata = {} } = term === 0 ? {} : await world.blob.getProperties();
      expect(metadata["leasehold_term"] ?? "0", done.join(" ")).toBe(String(term));
    }
    expect(term).toBeGreaterThan(10);
  });
});

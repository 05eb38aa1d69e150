import type { LeaseSnapshot } from "@leasehold/core";
import { describe, expect } from "vitest";
import { ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { LAPSE_MS, someLeaseId, type BlobWorld } from "./blob-world.ts";
import { test } from "./world-test.ts";

describe("the state of a lease for a reader", () => {
  test("is undefined without container or blob, and the read creates none", async ({ world }) => {
    await expect(world.store().read(ELECTION)).resolves.toBeUndefined();
    await world.container.create();
    await expect(world.store().read(ELECTION)).resolves.toBeUndefined();
    await expect(world.blob.exists()).resolves.toBe(false);
  });

  test("is vacant if the blob was made but has never had a leader", async ({ world }) => {
    await world.container.create();
    await world.container.getBlockBlobClient(ELECTION).upload("", 0);

    await expect(world.store().read(ELECTION)).resolves.toEqual({ election: ELECTION, state: "vacant", term: 0 });
  });

  test("is held, in the process that holds it", async ({ world }) => {
    const store = world.store();
    await win(store, { value: "http://a" });

    await expect(store.read(ELECTION)).resolves.toEqual({
      election: ELECTION,
      state: "held",
      term: 1,
      holder: "a",
      value: "http://a",
      leaseDurationMs: LEASE_MS,
      bar: { kind: "lease" },
    });
  });

  test("is unknown at a process's first read; the holder is the last one known", async ({ world }) => {
    await win(world.store(), { value: "http://a" });

    await expect(world.store().read(ELECTION)).resolves.toEqual({
      election: ELECTION,
      state: "unknown",
      term: 1,
      holder: "a",
      value: "http://a",
      leaseDurationMs: LEASE_MS,
      bar: { kind: "lease" },
    });
  });

  test("is expired after the lease's duration without a renewal", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    await world.forward(10_000);
    await store.renew(lease, LIMITS);
    await world.forward(13_000);
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "unknown" });

    await world.forward(5_000);

    for (const reader of [store, world.store()]) {
      await expect(reader.read(ELECTION)).resolves.toMatchObject({ state: "expired", term: 1, holder: "a" });
    }
  });

  test("is ending, with the reason, while an administrator's break waits for the lease to run out, and then expired", async ({
    world,
  }) => {
    const store = world.store();
    await win(store);
    await world.store().break(ELECTION, { reason: "maintenance" });

    for (const reader of [store, world.store()]) {
      await expect(reader.read(ELECTION)).resolves.toMatchObject({
        state: "ending",
        term: 1,
        holder: "a",
        endingReason: "maintenance",
      });
    }
    await world.forward(LAPSE_MS);
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "expired", term: 1, endingReason: "maintenance" });
  });

  test("is held after every read has shown a lease under this term for longer than any lease lasts", async ({ world }) => {
    const store = world.store();
    const lease = await win(store, { value: "http://a" });
    const reader = world.store();

    const states = await looksAt(
      world,
      70,
      async () => await reader.read(ELECTION),
      () => store.renew(lease, LIMITS),
    );

    expect(states.slice(0, 60)).toEqual(Array.from({ length: 60 }, () => "unknown"));
    expect(states.at(-1)).toBe("held");
    await expect(reader.read(ELECTION)).resolves.toMatchObject({ holder: "a", value: "http://a", term: 1 });
  });

  test("is never held again, and without a holder, after a read has shown this term without its lease", async ({ world }) => {
    await win(world.store());
    const reader = world.store();
    await reader.read(ELECTION);
    await world.forward(LAPSE_MS);
    await expect(reader.read(ELECTION)).resolves.toMatchObject({ state: "expired" });
    const stranger = world.blob.getBlobLeaseClient(someLeaseId());
    await stranger.acquireLease(60);

    const states = await looksAt(
      world,
      70,
      async () => await reader.read(ELECTION),
      () => stranger.renewLease(),
    );

    expect(new Set(states)).toEqual(new Set(["unknown"]));
    expect(await reader.read(ELECTION)).not.toHaveProperty("holder");
  });

  test("is always unknown, and without a holder, under an infinite lease, which no elector takes", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    await world.blob.getBlobLeaseClient(someLeaseId()).acquireLease(-1);
    const reader = world.store();

    const states = await looksAt(world, 70, async () => await reader.read(ELECTION));

    expect(new Set(states)).toEqual(new Set(["unknown"]));
    expect(await reader.read(ELECTION)).not.toHaveProperty("holder");
  });

  test("is no longer held in its holder's process once the lease has run out, even if only the wall clock shows that time", async ({
    world,
  }) => {
    const store = world.store();
    await win(store);
    // The machine was suspended, and its monotonic clock stood still. Meanwhile another candidate acquired and crashed.
    world.clock.jumpWall(LAPSE_MS);
    await world.elsewhere(LAPSE_MS);
    await world.blob.getBlobLeaseClient(someLeaseId()).acquireLease(15);

    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "unknown" });
  });
});

/** Reads once a second, and renews every five seconds. Returns the states that were read. */
async function looksAt(
  world: BlobWorld,
  seconds: number,
  look: () => Promise<LeaseSnapshot | undefined>,
  renew?: () => Promise<unknown>,
): Promise<Array<LeaseSnapshot["state"] | undefined>> {
  const states: Array<LeaseSnapshot["state"] | undefined> = [];
  for (let second = 0; second < seconds; second += 1) {
    if (second % 5 === 0) await renew?.();
    states.push((await look())?.state);
    await world.forward(1_000);
  }
  return states;
}

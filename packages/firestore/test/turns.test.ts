import type { LeaseSnapshot } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import { describe, expect } from "vitest";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { LEASE_PATH, type FirestoreWorld } from "./firestore-world.ts";
import { test } from "./world-test.ts";

const WEST = { group: "west ü/😀", durationMs: 90_000.5 };
const HOLD_MS = 40_000;

/** Lets a candidate of group west lead for a second, and release. */
async function ledInWest(world: FirestoreWorld, holdMs?: number, reservation = WEST): Promise<Lease> {
  const store = world.store();
  const lease = await win(store, { reservation });
  world.moveServerClock(1_000);
  await store.release(lease, { ...LIMITS, holdMs });
  return lease;
}

/** Returns the result of an attempt by a process that has just started. It knows only Firestore's replies. */
async function tryCold(world: FirestoreWorld, reservation?: typeof WEST): Promise<LeaseSnapshot | "acquired" | undefined> {
  const outcome = await world.store().acquire(acquiring({ candidateId: "cold", reservation }));
  return outcome.acquired ? "acquired" : outcome.current;
}

describe("a reservation", () => {
  test("is a map in the lease document, is read as it was written, and is replaced by the next term", async ({ world }) => {
    await ledInWest(world);
    await expect(world.fieldsAt(LEASE_PATH)).resolves.toMatchObject({
      termId: null,
      bars: [{ untilMs: WEST.durationMs, except: { group: WEST.group } }],
    });
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ bar: { kind: "reservation", group: WEST.group } });

    world.moveServerClock(WEST.durationMs + 1);
    await win(world.store());
    expect(await world.fieldsAt(LEASE_PATH)).not.toHaveProperty("bars");
  });
});

describe("a hold", () => {
  test("is a number in the lease document, and ends exactly by Firestore's clock for a cold process", async ({ world }) => {
    await ledInWest(world, HOLD_MS);
    await expect(world.fieldsAt(LEASE_PATH)).resolves.toMatchObject({
      termId: null,
      bars: [{ untilMs: HOLD_MS, except: null }, {}],
    });
    world.moveServerClock(HOLD_MS - 1);
    const held = await tryCold(world, WEST);
    expect(held).toMatchObject({ state: "vacant", bar: { kind: "hold", leftMs: expect.closeTo(1, 0) as number } });
    world.moveServerClock(2);
    await expect(tryCold(world, WEST)).resolves.toBe("acquired");
    await expect(world.fieldsAt(LEASE_PATH)).resolves.toMatchObject({ bars: [{ except: { group: WEST.group } }] });
  });

  test("that is not whole is stored unchanged", async ({ world }) => {
    await ledInWest(world, 1_500.25);
    await expect(world.fieldsAt(LEASE_PATH)).resolves.toMatchObject({ bars: [{ untilMs: 1_500.25 }, {}] });
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({
      bar: { kind: "hold", leftMs: expect.closeTo(1_500, 0) as number },
    });
  });
});

test.for([false, true])("both are read if integers are bigints: %s", async (useBigInt, { world }) => {
  // Whole numbers become bigints, also within the map.
  await ledInWest(world, HOLD_MS, { ...WEST, durationMs: 90_000 });
  const store = world.store({ firestore: world.client({ useBigInt }) });
  await expect(store.read(ELECTION)).resolves.toMatchObject({
    state: "vacant",
    bar: { kind: "hold", leftMs: expect.closeTo(HOLD_MS, 0) },
  });
});

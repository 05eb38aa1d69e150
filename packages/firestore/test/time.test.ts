import type { Lease } from "@leasehold/core/provider";
import type { FirestoreLeaseStore } from "@leasehold/firestore";
import { describe, expect } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { type FirestoreWorld, LEASE_PATH } from "./firestore-world.ts";
import { test } from "./world-test.ts";

const HOUR_MS = 3_600_000;
/** The server's clock moves by a microsecond with each request, so that no two requests have the same time. */
const GRAIN_MS = 0.1;

/** Returns what a process that has just started reads. It knows only Firestore's replies. */
async function coldRead(world: FirestoreWorld): Promise<{ readonly state: string; readonly ageMs: number }> {
  const snapshot = await world.store().read(ELECTION);
  const [min, max] = snapshot?.ageMs ?? [NaN, NaN];
  // Exact, except for the rounding of numbers.
  expect(max - min).toBeLessThan(1e-6);
  return { state: snapshot?.state ?? "none", ageMs: min };
}

async function expectAge(world: FirestoreWorld, state: string, ageMs: number): Promise<void> {
  const cold = await coldRead(world);
  expect(cold.state).toBe(state);
  expect(cold.ageMs).toBeGreaterThan(ageMs - GRAIN_MS);
  expect(cold.ageMs).toBeLessThan(ageMs + GRAIN_MS);
}

/** Orders a transfer of the present leader, without waiting for its outcome. */
async function askToTransfer(world: FirestoreWorld, admin: FirestoreLeaseStore, candidateId: string): Promise<void> {
  const before = world.commits.length;
  const stopping = new AbortController();
  const transfer = admin.transfer(ELECTION, candidateId, { signal: stopping.signal }).catch((reason: unknown) => reason);
  await expect.poll(() => world.commits.length, { interval: 1 }).toBe(before + 1);
  // Continues only after the reply.
  await expect.poll(() => world.witness.published.at(-1)?.operation, { interval: 1 }).toBe("put");
  stopping.abort("asked");
  await expect(transfer).resolves.toBe("asked");
}

test("the capability says that the store's clock is exact, and electors use it", async ({ world }) => {
  expect(world.store().capabilities).toMatchObject({ storeClock: { toleranceMs: 0, exact: true }, watch: "push" });
});

describe("a lease's age, by Firestore's times alone", () => {
  test("is exact, from the commit to the read", async ({ world }) => {
    await win(world.store());
    await expectAge(world, "held", 0);
    world.moveServerClock(1_234);
    await expectAge(world, "held", 1_234);
    world.moveServerClock(5 * HOUR_MS);
    await expectAge(world, "expired", 5 * HOUR_MS + 1_234);
  });

  test("shows an expiry to a process that has just started right after the lease, and not before", async ({ world }) => {
    await win(world.store());
    world.moveServerClock(LEASE_MS - 1);
    await expectAge(world, "held", LEASE_MS - 1);
    await expect(world.store().acquire(acquiring({ candidateId: "b" }))).resolves.toMatchObject({ acquired: false });
    world.moveServerClock(2);
    await expectAge(world, "expired", LEASE_MS + 1);
    await expect(win(world.store(), { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });

  test("counts from each renewal and publication again", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    for (const write of [() => store.renew(lease, LIMITS), () => store.publish(lease, "value", LIMITS)]) {
      world.moveServerClock(LEASE_MS - 1);
      await write();
      await expectAge(world, "held", 0);
    }
    world.moveServerClock(LEASE_MS - 1);
    await expectAge(world, "held", LEASE_MS - 1);
  });

  test.for([5 * HOUR_MS, -5 * HOUR_MS])("does not depend on clients' clocks, which are %d ms off", async (ms, { world }) => {
    const [holder, rival] = [world.clock(), world.clock()];
    holder.jumpWall(ms);
    const store = world.store({ clock: holder });
    const lease = await win(store);
    rival.jumpWall(-ms);
    world.moveServerClock(1_000);
    const snapshot = await world.store({ clock: rival }).read(ELECTION);
    expect(snapshot?.state).toBe("held");
    expect(snapshot?.ageMs?.[0]).toBeCloseTo(1_000, 0);
    expect(snapshot?.ageMs?.[1]).toBeCloseTo(1_000, 0);

    holder.jumpWall(-3 * ms);
    await store.renew(lease, LIMITS);
    await expectAge(world, "held", 0);
    world.moveServerClock(LEASE_MS + 1);
    await expect(win(world.store({ clock: rival }), { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });

  test.for([5 * HOUR_MS, -5 * HOUR_MS])("is never negative if the service's clock is set by %d ms", async (ms, { world }) => {
    const store = world.store();
    const lease = await win(store);
    world.moveServerClock(ms);
    await store.renew(lease, LIMITS);
    world.moveServerClock(-ms);
    const cold = await coldRead(world);
    expect(cold.state).toBe("held");
    expect(cold.ageMs).toBeGreaterThanOrEqual(0);
  });
});

describe("an administrator's write", () => {
  interface Situation {
    readonly store: FirestoreLeaseStore;
    readonly lease: Lease;
    readonly admin: FirestoreLeaseStore;
  }
  async function heldFor(world: FirestoreWorld, ms: number): Promise<Situation> {
    const store = world.store();
    const lease = await win(store);
    world.moveServerClock(ms);
    return { store, lease, admin: world.store() };
  }

  test("that breaks does not make the lease longer or shorter", async ({ world }) => {
    const { admin } = await heldFor(world, 10_000);
    await expect(admin.break(ELECTION, { reason: "test" })).resolves.toMatchObject({ broken: true });
    await expectAge(world, "ending", 10_000);
    world.moveServerClock(LEASE_MS - 10_001);
    await expectAge(world, "ending", LEASE_MS - 1);
    await expect(world.store().acquire(acquiring({ candidateId: "b" }))).resolves.toMatchObject({ acquired: false });
    world.moveServerClock(2);
    await expectAge(world, "expired", LEASE_MS + 1);
    await expect(win(world.store(), { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });

  test("that transfers does not make the lease longer or shorter", async ({ world }) => {
    const { admin } = await heldFor(world, 10_000);
    await askToTransfer(world, admin, "b");
    await expectAge(world, "ending", 10_000);
    world.moveServerClock(LEASE_MS - 9_999);
    await expectAge(world, "expired", LEASE_MS + 1);
  });

  test("does not make the lease longer or shorter if another one follows", async ({ world }) => {
    const { admin } = await heldFor(world, 4_000);
    const written = await world.aside(async (firestore) => (await firestore.doc(LEASE_PATH).get()).updateTime);
    await askToTransfer(world, admin, "b");
    world.moveServerClock(4_000);
    await world.store().break(ELECTION, { reason: "test" });
    await expectAge(world, "ending", 8_000);
    // Exact to the nanosecond, because the time of the nonce's own commit is stored.
    await expect(world.fieldsAt(LEASE_PATH)).resolves.toMatchObject({ nonceTime: written });
    world.moveServerClock(LEASE_MS - 7_999);
    await expectAge(world, "expired", LEASE_MS + 1);
  });

  test("does not change that a later renewal counts from itself", async ({ world }) => {
    const { store, lease, admin } = await heldFor(world, 10_000);
    await askToTransfer(world, admin, "b");
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true, transferTo: "b" });
    expect(await world.fieldsAt(LEASE_PATH)).not.toHaveProperty("nonceTime");
    await expectAge(world, "ending", 0);
    world.moveServerClock(LEASE_MS - 1);
    await expectAge(world, "ending", LEASE_MS - 1);
  });

  test("does not change that a later release and acquisition count from themselves", async ({ world }) => {
    const { store, lease, admin } = await heldFor(world, 10_000);
    await admin.break(ELECTION, { reason: "test" });
    await store.release(lease, LIMITS);
    expect(await world.fieldsAt(LEASE_PATH)).not.toHaveProperty("nonceTime");
    await expectAge(world, "vacant", 0);
    await win(world.store(), { candidateId: "b" });
    await expectAge(world, "held", 0);
  });

  test("that breaks immediately frees the lease at once, and counts from itself", async ({ world }) => {
    const { admin } = await heldFor(world, 10_000);
    await admin.break(ELECTION, { reason: "test", immediate: true });
    await expectAge(world, "vacant", 0);
    await expect(win(world.store(), { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });
});

test("every write makes another version, also in the same millisecond", async ({ world }) => {
  const store = world.store();
  const lease = await win(store);
  for (let renewals = 0; renewals < 5; renewals += 1) await store.renew(lease, LIMITS);
  await store.publish(lease, "value", LIMITS);
  await world.store().break(ELECTION, { reason: "test" });
  await store.release(lease, LIMITS);
  await win(store);

  const required = world.commits.map(({ writes }) => JSON.stringify(writes[0]?.currentDocument));
  const succeeded = required.filter((condition, index) => required.indexOf(condition) === index);
  // All except the release that conflicted with the break: its first try named the version that the break had named too.
  expect(succeeded).toHaveLength(required.length - 1);
});

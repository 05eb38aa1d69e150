// The orders of an operator.

import { MemoryLeaseStore, type LeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { evictMember, Fleet, readFleet, releaseShard, resetFleet, type FleetOptions } from "../src/index.ts";
import { logged, numbered, World, type Process } from "./world/world.ts";

const LEASE_MS = 9_000;

async function started(names: readonly string[], options: Partial<FleetOptions> = {}): Promise<World> {
  const fleet = { leaseDurationMs: LEASE_MS, settleMs: 5_000, ...options };
  return await new World(21, { shards: numbered(6), storeClock: true, fleet }).started(names);
}

/** Lets the judge watch until the order is done. */
async function ordered<T>(world: World, order: Promise<T>): Promise<T> {
  const done: T[] = [];
  const failed: unknown[] = [];
  order.then(
    (result) => done.push(result),
    (error: unknown) => failed.push(error),
  );
  await world.until(() => done.length + failed.length > 0);
  if (failed.length > 0) throw failed[0];
  return done[0] as T;
}

async function termOf(world: World, { store }: Process, shard: string): Promise<number> {
  const { shards } = await world.clock.runUntil(readFleet(store, "f"));
  return shards.find(({ name }) => name === shard)?.term ?? 0;
}

test("a shard that is released goes to another member, and no other shard moves", async () => {
  const world = await started(["a", "b", "c"]);
  const [operator] = world.processes as [Process];
  const before = world.holders();
  const term = await termOf(world, operator, "3");
  expect(await ordered(world, releaseShard(operator.store, "f", "3", { ifTerm: term }))).toBe(true);
  await world.until(() => world.starts === 1 && world.holders().size === 6, 30_000);
  const after = world.holders();
  expect(after.get("3")).not.toBe(before.get("3"));
  for (const shard of ["0", "1", "2", "4", "5"]) expect(after.get(shard)).toBe(before.get(shard));
  // A doubled order does nothing.
  expect(await ordered(world, releaseShard(operator.store, "f", "3", { ifTerm: term }))).toBe(false);
  await world.advance(60_000);
  expect(world.starts).toBe(1);
  expect(world.violations).toEqual([]);
});

test("the release of a shard survives a crash of the coordinator", async () => {
  const world = await started(["a", "b", "c"]);
  const coordinator = world.coordinator!;
  const operator = world.others[0]!;
  const shard = [...world.holders()].find(([, holder]) => holder === operator)![0];
  const term = await termOf(world, operator, shard);
  coordinator.clock.kill();
  expect(await ordered(world, releaseShard(operator.store, "f", shard, { ifTerm: term }))).toBe(true);
  await world.until(() => ![undefined, operator].includes(world.holders().get(shard)), 60_000);
  expect(world.violations).toEqual([]);
});

test("with one member, a released shard begins anew", async () => {
  const world = await started(["a"]);
  const [operator] = world.processes as [Process];
  await ordered(world, releaseShard(operator.store, "f", "3", { ifTerm: await termOf(world, operator, "3") }));
  await world.until(() => world.starts === 1 && world.holders().size === 6, 30_000);
});

test.for(["deleted", "damaged", "kept"])(
  "a reset of a plan that was %s grants nothing before the longest lease has passed",
  async (how) => {
    const world = await started(["a", "b", "c"]);
    const operator = world.others[0]!;
    const cutOff = world.others[1]!;
    const plan = world.service.record("fleet/f/plan") as object;
    if (how === "deleted") world.service.remove("fleet/f/plan");
    if (how === "damaged") world.service.overwrite("fleet/f/plan", { ...plan, value: "{}" });
    if (how !== "kept") world.coordinator!.clock.kill();
    // It does not learn of the reset, and works on until its lease has run out.
    cutOff.connection.cutUntilMs = world.nowMs() + 2 * LEASE_MS;
    const { revision } = await ordered(world, resetFleet(operator.store, "f"));
    await world.until(() => world.starts > 0 && world.problem() === undefined);
    expect(world.violations).toEqual([]);
    const status = await world.clock.runUntil(readFleet(operator.store, "f"));
    expect(status).toMatchObject({ isResetting: false });
    expect(status.revision).toBeGreaterThanOrEqual(revision);
  },
);

test("a reset that was interrupted grants nothing and is logged, until a second one ends it", async () => {
  const { problems, logger } = logged();
  const world = await started(["a", "b"], { logger });
  const [operator] = world.processes as [Process];
  const interrupted = new AbortController();
  const first = resetFleet(operator.store, "f", { signal: interrupted.signal });
  first.catch(() => undefined);
  await world.until(() => world.holders().size === 0);
  interrupted.abort(new Error("interrupted"));
  await expect(first).rejects.toThrow("interrupted");
  problems.length = 0;
  await world.advance(25_000);
  expect(problems).toEqual([]);
  await world.advance(60_000);
  expect(world.starts).toBe(0);
  expect(problems).toEqual([expect.stringContaining("until you reset the fleet again")]);
  expect(await world.clock.runUntil(readFleet(operator.store, "f"))).toMatchObject({ isResetting: true });
  await ordered(world, resetFleet(operator.store, "f"));
  await world.until(() => world.problem() === undefined);
  expect(world.violations).toEqual([]);
});

test("a reset waits for the longest lease that any record shows, after all records but the fences were deleted", async () => {
  const world = await started(["a", "b"], { leaseDurationMs: 90_000 });
  const coordinator = world.coordinator!;
  const cutOff = world.others[0]!;
  cutOff.connection.cutUntilMs = world.nowMs() + 200_000;
  coordinator.clock.kill();
  for (const name of world.names) if (!name.includes("/shard/")) world.service.remove(name);
  await ordered(world, resetFleet(world.connect().store, "f"));
  world.start("c");
  await world.until(() => world.problem() === undefined);
  expect(world.violations).toEqual([]);
});

test("a reset goes above the revision that a process knows from a session that is over", async () => {
  const world = await started(["a"], { fenced: false });
  const [process] = world.processes as [Process];
  process.clock.jumpWall(3_600_000);
  const { revision } = await ordered(world, resetFleet(process.store, "f"));
  process.clock.jumpWall(-3_600_000);
  await world.until(() => world.problem() === undefined);
  for (const name of world.names) world.service.remove(name);
  // The process joins again, and no record but its report shows the revision.
  await world.advance(4 * LEASE_MS);
  const next = await ordered(world, resetFleet(world.connect().store, "f"));
  expect(next.revision).toBeGreaterThan(revision);
  await world.until(() => world.problem() === undefined);
  expect(world.violations).toEqual([]);
});

test("a reset ends a session that its first list of the members does not show", async () => {
  const world = await started(["a", "b"]);
  const { store, connection } = world.connect();
  connection.standStill(30_000);
  const late = world.start("late");
  await world.until(() => world.problem() === undefined);
  // It does not learn of the new plan, and renews its session.
  late.connection.onRequest = (request) => {
    if (request === "get plan") throw new Error("denied");
  };
  await ordered(world, resetFleet(store, "f"));
  late.connection.onRequest = undefined;
  await world.until(() => world.problem() === undefined);
  expect(world.violations).toEqual([]);
});

test("a reset refuses a fleet of which the store has no record, and makes none", async () => {
  const world = await started(["a"]);
  const [operator] = world.processes as [Process];
  await expect(ordered(world, resetFleet(operator.store, "typo"))).rejects.toThrow("no record of a fleet 'typo'");
  expect([...world.names].filter((name) => name.startsWith("fleet/typo/"))).toEqual([]);
});

test("orders refuse bad input before any request", async () => {
  const store = new MemoryLeaseStore();
  await expect(releaseShard(store, "a/b", "3", { ifTerm: 1 })).rejects.toThrow("has a slash");
  await expect(releaseShard(store, "f", "", { ifTerm: 1 })).rejects.toThrow("name is empty");
  await expect(releaseShard(store, "f", "3", { ifTerm: 1.5 })).rejects.toThrow("ifTerm is 1.5");
  await expect(resetFleet(store, "a/b")).rejects.toThrow("has a slash");
  await expect(resetFleet(store, "f", { signal: 1 as never })).rejects.toThrow("signal must be an AbortSignal");
});

test("a store with leases of its own keeps a fleet in its `fleets`, where an evicted member loses its session", async () => {
  const clock = new VirtualClock(5);
  const fleets = new MemoryLeaseStore({ clock });
  const capabilities = { ...fleets.capabilities, fleet: undefined };
  const own = { name: "own", clock, fleets, capabilities, acquire: () => undefined };
  const store = own as unknown as LeaseStore;
  const fleet = new Fleet({ store, fleet: "f", shards: 1, logger: false });
  const terms: number[] = [];
  const running = fleet.run(async ({ term, ended }) => {
    terms.push(term);
    await ended;
  });
  await clock.advance(20_000);
  const { members } = await clock.runUntil(readFleet(store, "f"));
  expect(members).toMatchObject([{ state: "held", shards: 1 }]);
  expect(await clock.runUntil(evictMember(store, members[0]!))).toBe(true);
  await clock.advance(120_000);
  expect(fleet.shards).toHaveLength(1);
  expect(terms).toHaveLength(2);
  expect(terms[1]).toBeGreaterThan(terms[0]!);
  void fleet.stop();
  await clock.runUntil(running);
});

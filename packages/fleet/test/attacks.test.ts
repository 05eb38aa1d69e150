// Directed attacks. Each broke a prototype of the fleet.

import { isLeaseholdError, StoreError } from "@leasehold/core";
import { expect, test } from "vitest";
import { logged, numbered, QUIET, World, type Process, type WorldOptions } from "./world/world.ts";

const LEASE_MS = 9_000;

async function started(names: readonly string[], options: Partial<WorldOptions> = {}): Promise<World> {
  const fleet = { leaseDurationMs: LEASE_MS, settleMs: 5_000, ...options.fleet };
  return await new World(11, { shards: numbered(6), storeClock: true, ...options, fleet }).started(names);
}

/** The name of the record of a process's session. */
function slotOf(world: World, { name }: Process): string {
  const slots = [...world.names].filter((one) => one.includes("/member/"));
  return slots.find((one) => (world.service.record(one) as { value?: string } | undefined)?.value?.includes(`"name":"${name}"`))!;
}

test("a list that shows a live session as expired frees nothing", async () => {
  const world = await started(["a", "b", "c"]);
  const coordinator = world.coordinator!;
  // Its lists show the renewals of this moment for longer than a lease.
  coordinator.connection.standStill(2 * LEASE_MS);
  await world.advance(2 * LEASE_MS);
  expect(world.violations).toEqual([]);
  expect(world.starts).toBe(0);
});

test("a member that freezes between its read of the plan and the start begins nothing", async () => {
  const world = await started(["a"]);
  let struck = 0;
  const late = world.start("b");
  late.connection.onRequest = (request) => {
    if (request !== "get plan" || struck > 3 || !late.clock.running) return;
    struck += 1;
    world.clock.setTimer(() => late.clock.pause(), 0);
    world.clock.setTimer(() => late.clock.resume(), 2 * LEASE_MS);
  };
  await world.advance(200_000);
  expect(struck).toBeGreaterThan(1);
  expect(world.violations).toEqual([]);
  await world.until(() => world.problem() === undefined);
});

test.for(["deleted", "restored"] as const)("after the plan was %s nobody is granted a shard, and holders go on", async (how) => {
  const { problems, logger } = logged();
  const world = await started(["a"], { fleet: { logger } });
  const backup = world.service.backUp("fleet/f/plan");
  world.start("b");
  await world.until(() => world.problem() === undefined);
  // The new plan is carried out and reported before it is lost.
  await world.advance(20_000);
  if (how === "deleted") world.service.remove("fleet/f/plan");
  else world.service.restore("fleet/f/plan", backup);
  const holder = world.others[0]!;
  const held = world.counts().get(holder.name)!;
  world.coordinator!.clock.kill();
  world.start("c");
  world.start("d");
  world.starts = 0;
  await world.advance(200_000);
  expect(world.violations).toEqual([]);
  expect(world.starts).toBe(0);
  expect(world.counts().get(holder.name)).toBe(held);
  expect(problems).toContainEqual(
    expect.stringMatching(/(is gone|shows revision \d+), but the head, a report or this process knows/),
  );
});

/** Takes a free slot for a stranger, and vacates it. */
async function takeAndVacate(world: World, { store }: Process, slot: string, minTerm: number): Promise<void> {
  const request = { election: slot, candidateId: "x", leaseDurationMs: LEASE_MS, renewIntervalMs: 3_000, timeoutMs: 500 };
  await world.clock.runUntil(store.read(slot));
  const made = await world.clock.runUntil(store.acquire({ ...request, minTerm }));
  expect(made.acquired).toBe(true);
  if (made.acquired) await world.clock.runUntil(store.release(made.lease, { timeoutMs: 500 }));
}

test.for([0, 1])(
  "a slot's record that is deleted, made anew and vacated %i terms later is no end of the old session",
  async (later) => {
    const world = await started(["a", "b", "c"]);
    const victim = world.others[0]!;
    const slot = slotOf(world, victim);
    const term = termOf(world, slot);
    // The victim does not learn of it, and its lease runs on.
    victim.connection.cutUntilMs = world.nowMs() + 5_000;
    world.service.remove(slot);
    await takeAndVacate(world, world.others[1]!, slot, term + later);
    await world.advance(3_000);
    expect(world.violations).toEqual([]);
    // After a whole lease its shards are free.
    await world.until(() => world.problem() === undefined);
    expect(world.violations).toEqual([]);
  },
);

test("a session's record that is deleted while its holder is cut off frees its shards after a whole lease, and no sooner", async () => {
  const world = await started(["a", "b", "c"]);
  const victim = world.others[0]!;
  victim.connection.cutUntilMs = world.nowMs() + 60_000;
  world.service.remove(slotOf(world, victim));
  const ms = await world.until(() => world.starts > 0);
  expect(ms).toBeGreaterThanOrEqual(LEASE_MS);
  await world.until(() => world.problem() === undefined);
  expect(world.violations).toEqual([]);
});

test("a process that restarts every two seconds keeps no shard from the others", async () => {
  const world = await started(["a", "b"], { shards: numbered(12) });
  for (let round = 0; round < 100; round += 1) {
    const restless = world.start(`r${round}`);
    await world.advance(2_300);
    restless.clock.kill();
    expect(world.holders().size).toBe(12);
  }
  expect(world.violations).toEqual([]);
});

test("a process that restarts every two seconds does not keep a first plan from being made", async () => {
  const world = new World(12, { shards: numbered(12), storeClock: true, fleet: { leaseDurationMs: LEASE_MS } });
  world.start("a");
  for (let round = 0; round < 10; round += 1) {
    const restless = world.start(`r${round}`);
    await world.advance(2_300);
    restless.clock.kill();
  }
  // The process still restarts.
  expect(world.holders().size).toBe(12);
  expect(world.violations).toEqual([]);
});

test("after an outage the first member back does not get all shards", async () => {
  const world = await started(["a", "b", "c"]);
  for (const [index, { connection }] of world.processes.entries()) connection.cutUntilMs = world.nowMs() + 40_000 + 1_000 * index;
  await world.advance(41_000);
  world.starts = 0;
  await world.until(() => world.problem() === undefined);
  await world.advance(30_000);
  expect(world.starts).toBe(6);
});

test("one member that asks for fences fences the whole fleet", async () => {
  const world = new World(13, { shards: numbered(2), storeClock: true, fleet: { leaseDurationMs: LEASE_MS, settleMs: 3_000 } });
  for (let round = 0; round < 12; round += 1) {
    world.start(`fenced${round}`, { fenced: true });
    world.start(`plain${round}`, { fenced: false });
    await world.advance(15_000);
    const alive = world.processes.filter(({ clock }) => clock.running);
    for (const one of alive.slice(0, 2)) {
      one.clock.pause();
      world.clock.setTimer(() => one.clock.resume(), 3 * LEASE_MS);
      world.clock.setTimer(() => one.clock.kill(), 4 * LEASE_MS);
    }
  }
  await world.advance(60_000);
  expect(world.guarded).toBeGreaterThan(10);
  expect(world.violations).toEqual([]);
});

test("a coordinator whose task drains for long does not keep the head", async () => {
  const world = await started(["a", "b"], {
    habits: { ...QUIET, sticks: 1 },
    fleet: { leaseDurationMs: LEASE_MS, drainTimeoutMs: 40_000 },
  });
  const coordinator = world.coordinator!;
  // Its session is gone, and its tasks drain for a minute.
  coordinator.clock.pause();
  await world.advance(2 * LEASE_MS);
  coordinator.clock.resume();
  await world.until(() => ![undefined, coordinator].includes(world.coordinator) && world.holders().size === 6, 60_000);
  expect(world.violations).toEqual([]);
});

test("two swaps of two coordinators cannot both succeed, and no term is given twice", async () => {
  const world = await started(["a", "b", "c"]);
  for (let round = 0; round < 6; round += 1) {
    const coordinator = world.coordinator!;
    world.start(`n${round}`);
    // Its next write of the plan is on its way for longer than its lease, while it is frozen.
    coordinator.connection.onRequest = (request) => {
      if (request !== "put plan" || !coordinator.clock.running) return;
      coordinator.connection.nextLateMs = 2.5 * LEASE_MS;
      coordinator.connection.onRequest = undefined;
      world.clock.setTimer(() => coordinator.clock.pause(), 0);
      world.clock.setTimer(() => coordinator.clock.resume(), 2 * LEASE_MS);
    };
    await world.advance(60_000);
    if (world.processes.filter(({ isMember }) => isMember).length > 4) world.others[0]!.clock.kill();
  }
  await world.until(() => world.problem() === undefined);
  expect(world.violations).toEqual([]);
});

test("a member that cannot read the plan keeps its shards, until the plan asks something of it for two leases", async () => {
  const world = await started(["a", "b"]);
  const deaf = world.others[0]!;
  const held = world.counts().get(deaf.name);
  deaf.connection.onRequest = (request) => {
    if (request === "get plan") throw new Error("denied");
  };
  await world.advance(60_000);
  expect(world.counts().get(deaf.name)).toBe(held);
  // A new member asks for its share.
  world.start("c");
  await world.until(() => world.counts().get(deaf.name) === 0 && world.holders().size === 6, 120_000);
  await world.advance(60_000);
  expect(world.counts().get(deaf.name)).toBe(0);
  deaf.connection.onRequest = undefined;
  await world.until(() => world.problem() === undefined);
});

test("if nobody can read the plan, nobody loses a session", async () => {
  const world = await started(["a", "b", "c"]);
  world.start("d");
  await world.until(() => world.log.join().includes("d joined"));
  for (const { connection } of world.processes) {
    connection.onRequest = (request) => {
      if (request === "get plan") throw new Error("throttled");
    };
  }
  const left = world.log.length;
  await world.advance(120_000);
  expect(world.log.slice(left).filter((line) => line.includes(" left "))).toEqual([]);
  expect(world.holders().size).toBeGreaterThanOrEqual(4);
  expect(world.violations).toEqual([]);
});

test("a plan that is no record of ours is left as it is, and nothing is granted", async () => {
  const world = new World(14, { shards: numbered(2), storeClock: true, fleet: { leaseDurationMs: LEASE_MS } });
  const one = world.start("a");
  world.service.overwrite("fleet/f/plan", { mine: true });
  world.names.add("fleet/f/plan");
  await world.advance(60_000);
  expect(one.isDone).toBe(false);
  expect(world.starts).toBe(0);
  expect(world.service.record("fleet/f/plan")).toEqual({ mine: true });
  const error: unknown = await world.clock.runUntil(one.fleet.read().catch((failure: unknown) => failure));
  expect(isLeaseholdError(error, "FOREIGN_RECORD")).toBe(true);
});

test("a store that only refuses ends run() after a lease", async () => {
  const world = new World(15, { shards: numbered(2), storeClock: true, fleet: { leaseDurationMs: LEASE_MS } });
  const one = world.start("a");
  one.connection.onRequest = () => {
    throw new StoreError("STORE_DENIED", "no rights", { store: "simulated", operation: "get", mayHaveBeenApplied: false });
  };
  const ms = await world.until(() => one.isDone, 3 * LEASE_MS);
  expect(ms).toBeGreaterThanOrEqual(LEASE_MS);
  expect(one.failure).toMatchObject({ code: "STORE_DENIED" });
});

test("a slot's record that is overwritten by a stranger frees its shards after a whole lease, and is never used again", async () => {
  const world = await started(["a", "b", "c"]);
  const victim = world.others[0]!;
  const slot = slotOf(world, victim);
  world.service.overwrite(slot, { mine: true });
  await world.until(() => world.problem() === undefined && world.starts > 0);
  await world.advance(60_000);
  expect(world.violations).toEqual([]);
  expect(world.service.record(slot)).toEqual({ mine: true });
  expect(world.problem()).toBeUndefined();
});

test("a plan that a failover undoes was carried out by nobody", async () => {
  const world = await started(["a", "b", "c"], { showsUndurable: true });
  for (let round = 0; round < 8; round += 1) {
    world.start(`n${round}`);
    await world.advance(4_000 + 700 * round);
    // Writes are shown from now on, and not acknowledged. Then they are undone.
    world.service.cutOff();
    await world.advance(3_500);
    world.service.failOver(0);
    await world.advance(12_000);
    world.others[0]!.clock.kill();
  }
  await world.until(() => world.problem() === undefined);
  expect(world.violations).toEqual([]);
  expect(world.starts).toBeGreaterThan(6);
});

test("a process joins again beside a task that sticks, and starts that shard only once the task has settled", async () => {
  const world = await started(["a", "b"], { habits: { ...QUIET, sticks: 1 }, fleet: { drainTimeoutMs: 3_000 } });
  const frozen = world.others[0]!;
  frozen.clock.pause();
  await world.advance(2 * LEASE_MS);
  frozen.clock.resume();
  await world.until(() => world.log.filter((line) => line.includes(`${frozen.name} joined`)).length === 2, 30_000);
  world.habits = QUIET;
  await world.until(() => world.problem() === undefined);
  await world.advance(100_000);
  expect(world.violations).toEqual([]);
  expect(world.problem()).toBeUndefined();
});

/** Starts processes until one has taken the slot of this name. Kills those that have another one. */
async function takeSlot(world: World, slot: string): Promise<Process> {
  for (;;) {
    const other = world.start(`n${world.processes.length}`);
    await world.until(() => slotOf(world, other) !== undefined);
    if (slotOf(world, other) === slot) return other;
    other.clock.kill();
  }
}

const termOf = (world: World, slot: string): number => (world.service.record(slot) as { term: number }).term;

test("a slot's record that is restored to an earlier term frees its shards after a whole lease, and no sooner", async () => {
  const world = await started(["a", "b", "c"]);
  const victim = world.others[0]!;
  const slot = slotOf(world, victim);
  const backup = world.service.backUp(slot);
  const term = termOf(world, slot);
  victim.clock.kill();
  await takeSlot(world, slot);
  await world.until(() => world.problem() === undefined);
  expect(termOf(world, slot)).toBeGreaterThan(term);
  world.starts = 0;
  world.service.restore(slot, backup);
  const ms = await world.until(() => world.starts > 0);
  expect(ms).toBeGreaterThanOrEqual(LEASE_MS);
  await world.until(() => world.problem() === undefined);
  expect(world.violations).toEqual([]);
});

test("a slot's record that was restored, and that another session holds in the same term, frees the shards of the former one", async () => {
  const world = await started(["a", "b", "c"]);
  const victim = world.others[0]!;
  const slot = slotOf(world, victim);
  victim.stop();
  await world.until(() => victim.isDone);
  const backup = world.service.backUp(slot);
  const former = await takeSlot(world, slot);
  await world.until(() => world.problem() === undefined);
  const term = termOf(world, slot);
  former.connection.cutUntilMs = world.nowMs() + 20_000;
  world.service.restore(slot, backup);
  world.starts = 0;
  await takeSlot(world, slot);
  expect(termOf(world, slot)).toBe(term);
  await world.until(() => world.starts > 0 && world.problem() === undefined);
  expect(world.violations).toEqual([]);
});

test.for([1, 2])(
  "a vacant slot that is restored, taken and vacated %i times is no end of the session that had it",
  async (times) => {
    const world = await started(["a", "b", "c"]);
    const former = world.others[0]!;
    const slot = slotOf(world, former);
    former.stop();
    await world.until(() => former.isDone);
    const backup = world.service.backUp(slot);
    const victim = await takeSlot(world, slot);
    await world.until(() => world.problem() === undefined);
    expect(world.counts().get(victim.name)).toBeGreaterThan(0);
    // The victim does not learn of it, and its lease runs on.
    victim.connection.cutUntilMs = world.nowMs() + 5_000;
    world.service.restore(slot, backup);
    for (let count = 0; count < times; count += 1) await takeAndVacate(world, world.coordinator!, slot, 1);
    await world.advance(3_000);
    expect(world.violations).toEqual([]);
    await world.until(() => world.problem() === undefined);
    expect(world.violations).toEqual([]);
  },
);

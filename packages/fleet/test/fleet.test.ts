import { MemoryLeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { Fleet, readFleet } from "../src/index.ts";
import { numbered, QUIET, World, type Process, type WorldOptions } from "./world/world.ts";

async function started(names: readonly string[], options: Partial<WorldOptions> = {}): Promise<World> {
  return await new World(7, { shards: numbered(12), storeClock: true, ...options }).started(names);
}

function named(world: World, name: string): Process {
  return world.processes.find((one) => one.name === name)!;
}

test("members that start together share the shards, and each shard starts once", async () => {
  const world = new World(1, { shards: numbered(20), storeClock: true });
  for (const name of ["a", "b", "c", "d", "e"]) world.start(name);
  await world.until(() => world.problem() === undefined, 15_000);
  expect([...world.counts().values()]).toEqual([4, 4, 4, 4, 4]);
  expect(world.starts).toBe(20);
});

test("a crash moves the shards of the dead member alone, after its lease", async () => {
  const world = await started(["a", "b", "c"]);
  world.others[0]!.clock.kill();
  const ms = await world.until(() => world.problem() === undefined);
  expect(world.starts).toBe(4);
  // The lease, one interval, two quick polls, and six requests.
  expect(ms).toBeLessThan(30_000 + 10_000 + 2_000 + 1_000);
});

test("a crash of the coordinator costs one interval more", async () => {
  const world = await started(["a", "b", "c"]);
  world.coordinator!.clock.kill();
  const ms = await world.until(() => world.problem() === undefined);
  expect(world.starts).toBe(4);
  expect(ms).toBeLessThan(30_000 + 20_000 + 3_000 + 1_000);
});

test("a member that is alone goes on to coordinate after failed rounds", async () => {
  const world = new World(16, { shards: numbered(6), storeClock: true, fleet: { gatherMs: 0 } });
  const { connection } = world.start("a");
  let failures = 0;
  connection.onRequest = (request) => {
    if (request === "put plan" && (failures += 1) <= 3) throw new Error("refused");
  };
  await world.until(() => world.holders().size === 6, 30_000);
  expect(failures).toBeGreaterThan(3);
});

test("a member that stops hands its shards over while it works, and leaves no shard without a holder for long", async () => {
  const world = await started(["a", "b", "c"]);
  named(world, "a").stop();
  let withoutMs = 0;
  await world.until(() => {
    if (world.holders().size < 12) withoutMs += 100;
    return named(world, "a").isDone && world.problem() === undefined;
  }, 60_000);
  expect(world.starts).toBe(4);
  expect(withoutMs).toBeLessThan(5_000);
  expect(named(world, "a").failure).toBeUndefined();
});

test("the last member that stops ends its tasks at once, and all is free", async () => {
  const world = await started(["a"]);
  await world.advance(60_000);
  named(world, "a").stop();
  // The drain and three quick polls, with no wait for members that poll: the renewal interval is 10 s.
  await world.until(() => named(world, "a").isDone, 5_000);
  expect(world.holders().size).toBe(0);
  const status = await world.clock.runUntil(readFleet(named(world, "a").store, "f"));
  expect(status.members).toEqual([]);
});

test("a newcomer gets its share once members have settled, and no other shard moves", async () => {
  const world = await started(["a", "b"]);
  const sinceMs = world.nowMs();
  world.start("c");
  await world.until(() => world.problem() === undefined);
  expect(world.starts).toBe(4);
  expect(world.nowMs() - sinceMs).toBeGreaterThan(30_000);
});

test("a rolling deploy, a new process first, moves each of 100 shards about once", async () => {
  const world = await started(["a0", "b0", "c0", "d0", "e0", "f0", "g0", "h0", "i0", "j0"], {
    shards: numbered(100),
    fleet: { fenced: false },
  });
  for (const name of "abcdefghij") {
    world.start(`${name}1`);
    await world.advance(10_000);
    named(world, `${name}0`).stop();
    await world.advance(10_000);
  }
  await world.until(() => world.problem() === undefined);
  expect(world.starts).toBeGreaterThanOrEqual(100);
  expect(world.starts).toBeLessThanOrEqual(110);
});

test("members that replace others take their slots, so that records do not pile up", async () => {
  const world = await started(["a0", "b0", "c0"]);
  for (let deploy = 1; deploy <= 10; deploy += 1) {
    for (const name of ["a", "b", "c"]) {
      const former = named(world, `${name}${deploy - 1}`);
      world.start(`${name}${deploy}`);
      former.stop();
      await world.until(() => former.isDone && world.problem() === undefined);
    }
  }
  const slots = [...world.names].filter((name) => name.includes("/member/"));
  // 33 members in all. A process chooses among the first 8 free slots.
  expect(slots.length).toBeLessThanOrEqual(15);
});

test("at most three of five members work, and another one follows a crash", async () => {
  const world = new World(3, { shards: numbered(3), storeClock: true, fleet: { shards: undefined, atMost: 3 } });
  for (const name of ["a", "b", "c", "d", "e"]) world.start(name);
  await world.until(() => world.holders().size === 3);
  const holder = [...world.holders().values()][0]!;
  holder.clock.kill();
  await world.until(() => world.holders().size === 3);
  expect(Math.max(...world.counts().values())).toBe(1);
});

test("the preferred member leads while it is there", async () => {
  const world = new World(4, { shards: ["0"], storeClock: true });
  world.start("small", { priority: 1 });
  await world.until(() => world.holders().get("0")?.name === "small");
  world.start("large", { priority: 2 });
  await world.until(() => world.holders().get("0")?.name === "large");
  named(world, "large").clock.kill();
  await world.until(() => world.holders().get("0")?.name === "small");
  expect(world.starts).toBe(3);
});

test("weights decide the shares", async () => {
  const world = new World(5, { shards: numbered(12), storeClock: true });
  world.start("a", { weight: 2 });
  world.start("b");
  await world.until(() => world.problem({ isEven: false }) === undefined);
  expect([...world.counts().values()]).toEqual([8, 4]);
});

test("a member with maxShards 0 only coordinates", async () => {
  const world = new World(6, { shards: numbered(4), storeClock: true });
  world.start("a", { maxShards: 0 });
  await world.advance(10_000);
  expect(world.processes[0]!.fleet.isCoordinator).toBe(true);
  world.start("b");
  await world.until(() => world.holders().size === 4);
  expect([...world.counts().values()]).toEqual([0, 4]);
});

test("a shard whose task throws rests longer each time, goes to another member each time, and moves no other", async () => {
  const world = await started(["a", "b"]);
  world.habits = { ...QUIET, poison: "0" };
  const holder = world.holders().get("0")!;
  world.startsOf.clear();
  holder.clock.kill();
  world.start("c");
  await world.advance(700_000);
  const starts = world.startsOf.get("0") ?? [];
  const counts = new Map(starts.map(({ name }) => [name, starts.filter((one) => one.name === name).length]));
  // Ten minutes with rests of 2, 4, 8, 16, 32 and 60 s.
  expect(starts.length).toBeGreaterThan(9);
  expect(starts.length).toBeLessThan(20);
  expect(Math.min(...counts.values())).toBeGreaterThan(starts.length / 2 - 2);
  for (const shard of numbered(12).slice(1)) expect(world.startsOf.get(shard)?.length ?? 0).toBeLessThanOrEqual(2);
});

test("a task that returns at once, for ever, is slowed down as a failure", async () => {
  const world = new World(8, { shards: numbered(2), storeClock: true, habits: { ...QUIET, returns: "0" } });
  world.start("a");
  world.start("b");
  await world.advance(600_000);
  expect(world.startsOf.get("0")?.length).toBeLessThan(20);
  expect(world.startsOf.get("1")?.length).toBe(1);
});

test("a task that does not settle in time is an overrun: its shard is over, then let go, and stop() rejects", async () => {
  const world = await started(["a", "b"], {
    habits: { ...QUIET, sticks: 1 },
    fleet: { drainTimeoutMs: 5_000, leaseDurationMs: 10_000 },
  });
  named(world, "a").stop();
  await world.until(() => named(world, "a").isDone, 200_000);
  expect(named(world, "a").failure).toMatchObject({ code: "DRAIN_TIMEOUT" });
  expect(world.log.join()).toContain("a overruns");
  await world.until(() => world.problem() === undefined);
  expect(world.violations).toEqual([]);
});

test("run is refused beside a task of an earlier run, until that task has settled", async () => {
  const clock = new VirtualClock(3);
  const store = new MemoryLeaseStore({ clock });
  const fleet = new Fleet({ store, fleet: "f", shards: 1, logger: false, leaseDurationMs: 3_000, drainTimeoutMs: 3_000 });
  const settle: Array<() => void> = [];
  const task = (): Promise<void> => new Promise((resolve) => settle.push(resolve));
  const first = fleet.run(task).catch((error: unknown) => error);
  await clock.advance(20_000);
  const stopped = fleet.stop().catch((error: unknown) => error);
  await clock.advance(60_000);
  expect(await first).toMatchObject({ code: "DRAIN_TIMEOUT" });
  expect(await stopped).toMatchObject({ code: "DRAIN_TIMEOUT" });
  await fleet.stop();
  await expect(fleet.run(task)).rejects.toMatchObject({ code: "ELECTOR_BUSY" });
  settle[0]!();
  await clock.settle();
  const second = fleet.run(() => undefined);
  await clock.advance(1_000);
  void fleet.stop();
  await clock.runUntil(second);
  expect(settle).toHaveLength(1);
});

test("a second run in a process gets its shards although the store lost the release of the first", async () => {
  const world = await started(["a"], { shards: numbered(3) });
  const { fleet, connection, store } = named(world, "a");
  fleet.on("shardStopped", () => {
    if (world.holders().size === 0) connection.cutUntilMs = world.nowMs() + 45_000;
  });
  named(world, "a").stop();
  await world.until(() => named(world, "a").isDone, 120_000);
  const begun: string[] = [];
  const again = new Fleet({ store, fleet: "f", memberId: "a", logger: false, shards: numbered(3) });
  void again.run(({ name }) => new Promise<void>(() => void begun.push(name)));
  await world.until(() => begun.length === 3);
  expect(begun.toSorted()).toEqual(["0", "1", "2"]);
});

test("an outage shorter than the lease costs nothing", async () => {
  const world = await started(["a", "b", "c"]);
  for (const { connection } of world.processes) connection.cutUntilMs = world.nowMs() + 5_000;
  await world.advance(60_000);
  expect(world.starts).toBe(0);
});

test("in the calm a member asks about two requests an interval, whatever the number of shards", async () => {
  for (const shards of [10, 1_000]) {
    const world = await started(["a", "b", "c"], { shards: numbered(shards), fleet: { fenced: false } });
    await world.advance(120_000);
    world.resetCounts();
    await world.advance(600_000);
    const requests = [...world.requests().values()].reduce((sum, count) => sum + count, 0);
    // 60 intervals of 2 M + 1 requests; some polls miss their aim.
    expect(requests / 60).toBeLessThan(7 * 1.25);
    expect(world.starts).toBe(0);
  }
});

test("a list of shards from a function grows and shrinks; an empty answer counts once it is given twice", async () => {
  let answer: readonly string[] = ["a", "b", "c"];
  const shards = () => answer;
  const world = new World(9, { shards: answer, storeClock: true, fleet: { shards } });
  world.start("x");
  world.start("y");
  await world.until(() => world.problem() === undefined);
  answer = ["a", "b", "c", "d"];
  world.shards = answer;
  await world.until(() => world.problem() === undefined, 60_000);
  answer = ["a", "b"];
  await world.until(() => world.holders().size === 2, 120_000);
  answer = [];
  await world.advance(25_000);
  expect(world.holders().size).toBe(2);
  await world.until(() => world.holders().size === 0, 120_000);
});

test("in a rolling deploy to a longer list the shards change once all members have it", async () => {
  const world = await started(["a0", "b0"], { shards: numbered(4) });
  const longer = { shards: numbered(6) };
  world.start("a1", longer);
  named(world, "a0").stop();
  await world.advance(60_000);
  expect(world.holders().size).toBe(4);
  world.start("b1", longer);
  named(world, "b0").stop();
  world.shards = numbered(6);
  await world.until(() => world.problem() === undefined, 120_000);
});

test("a first reader sees members and shards, although the store's clock needs a second reading", async () => {
  const world = await started(["a", "b"], { shards: numbered(3) });
  const { store } = world.connect();
  const status = await world.clock.runUntil(readFleet(store, "f"));
  expect(status).toMatchObject({ fleet: "f", fenced: true });
  expect(status.coordinator).toMatch(/^[ab]$/);
  expect(new Map(status.members.map(({ memberId, shards }) => [memberId, shards]))).toEqual(world.counts());
  expect(status.shards).toHaveLength(3);
  for (const shard of status.shards)
    expect(shard).toMatchObject({ state: "held", failures: 0, memberId: expect.stringMatching(/[ab]/) });
});

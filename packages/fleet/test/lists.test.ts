// Lists of shards that differ, functions that fail, and a list that is large.

import { expect, test } from "vitest";
import type { FleetOptions } from "../src/index.ts";
import { logged, numbered, World, type Process } from "./world/world.ts";

async function started(members: Record<string, Partial<FleetOptions>>): Promise<World> {
  const world = new World(7, { shards: numbered(6) });
  for (const [name, options] of Object.entries(members)) world.start(name, options);
  await world.until(() => world.problem() === undefined);
  return world;
}

/** Makes another process the coordinator. The former one keeps its session. */
async function moveHead(world: World): Promise<Process> {
  const former = world.coordinator!;
  former.connection.onRequest = (request) => {
    if (request === "put head" || request === "list member") throw new Error("refused");
  };
  await world.until(() => ![undefined, former].includes(world.coordinator));
  former.connection.onRequest = undefined;
  return world.coordinator!;
}

test("a coordinator that takes the head again does not apply its old list when its function throws", async () => {
  let list = numbered(6);
  const broken = new Set<string>();
  const shardsOf = (name: string) => () => {
    if (broken.has(name)) throw new Error("no connection");
    return list;
  };
  const world = await started({ a: { shards: shardsOf("a") }, b: { shards: shardsOf("b") } });
  const first = world.coordinator!;
  await moveHead(world);
  list = numbered(10);
  await world.until(() => world.holders().size === 10);
  broken.add(first.name);
  expect(await moveHead(world)).toBe(first);
  await world.advance(120_000);
  expect(world.holders().size).toBe(10);
});

test("a function that never settles keeps neither the coordinator nor stop() waiting, and is logged", async () => {
  let hangs = false;
  const { problems, logger } = logged();
  const shards = () => (hangs ? new Promise<string[]>(() => undefined) : numbered(6));
  const world = await started({ a: { shards, logger }, b: { shards, logger } });
  hangs = true;
  await world.advance(60_000);
  world.coordinator!.clock.kill();
  await world.until(() => world.problem() === undefined);
  expect(problems).toContainEqual(expect.stringContaining("has not answered within"));
  const last = world.coordinator!;
  last.stop();
  await world.until(() => last.isDone, 60_000);
});

test("a function that fails is logged once, and again if it fails after it was well", async () => {
  let fails = true;
  const { problems, logger } = logged();
  const shards = () => {
    if (fails) throw new Error("no connection");
    return numbered(6);
  };
  const world = new World(7, { shards: numbered(6) });
  world.start("a", { shards, logger });
  await world.advance(200_000);
  expect(problems).toEqual(["The list of shards of 'f' stays as it is: no connection"]);
  fails = false;
  await world.until(() => world.problem() === undefined);
  fails = true;
  await world.advance(200_000);
  expect(problems).toHaveLength(2);
});

test("a new coordinator does not apply its list while members of whom it knows only the records have another one", async () => {
  const world = await started({ a: {}, b: {}, c: {} });
  // A rolling deploy: two processes with a longer list come, then the coordinator goes. Two with the shorter list go on.
  for (const name of ["d", "e"]) world.start(name, { shards: numbered(12) });
  await world.advance(60_000);
  // Among the others only those with the longer list take the head.
  for (const { name, connection } of world.processes) {
    connection.onRequest = (request) => {
      if (request === "put head" && "abc".includes(name)) throw new Error("refused");
    };
  }
  await world.until(() => "de".includes(world.coordinator?.name ?? "none"));
  await world.advance(60_000);
  expect([...world.holders().keys()].toSorted()).toEqual(numbered(6));
});

test("a list of the members that lags changes no shard while their lists of shards differ", async () => {
  const world = await started({ a: {} });
  world.start("b", { shards: numbered(12) });
  await world.advance(60_000);
  const coordinator = await moveHead(world);
  expect(coordinator.name).toBe("b");
  // All sessions look as if they had expired.
  coordinator.connection.standStill(90_000);
  await world.advance(200_000);
  expect([...world.holders().keys()].toSorted()).toEqual(numbered(6));
});

test("lists that differ for long are logged once", async () => {
  const { problems, logger } = logged();
  const world = await started({ a: { logger, settleMs: 5_000 } });
  world.start("b", { shards: numbered(12), logger, settleMs: 5_000 });
  await world.advance(30_000);
  expect(problems).toEqual([]);
  await world.advance(200_000);
  expect(problems).toEqual([expect.stringContaining("have had different lists of shards for 50 s: b and a")]);
});

test("one member too many is logged, and waits until another one is gone", async () => {
  const { problems, logger } = logged();
  // The plan has room for 32 members beside these names.
  const shards = Array.from({ length: 296 }, (_, index) => String(index).padStart(200, "x"));
  const world = new World(7, { shards, storeClock: true, fleet: { fenced: false, logger } });
  for (let index = 0; index < 33; index += 1) world.start(`m${index}`);
  const busy = (): number => [...world.counts().values()].filter((count) => count > 0).length;
  await world.until(() => busy() === 32 && world.holders().size === 296);
  expect(problems).toContainEqual(expect.stringContaining("has no room for all members and shards"));
  [...world.holders().values()].find((one) => one !== world.coordinator)!.clock.kill();
  await world.until(() => busy() === 32 && world.holders().size === 296);
});

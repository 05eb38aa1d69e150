/** Tests the founding of a quorum: it needs all members, and happens once. */
import type { LeaseRecord } from "@leasehold/core/provider";
import { SimulatedRecordService } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { MARKER, ROSTER } from "../src/roster.ts";
import { ELECTION, nonceOf, World, type Name } from "./world.ts";

const LOST = { arrivals: [] };

/** Reports whether a store has its marker in place of the blank record. */
function isMarked(world: World, name: Name): boolean {
  const { quorum } = (world.services[name].record(MARKER) ?? {}) as Partial<LeaseRecord>;
  return quorum !== undefined && (JSON.parse(quorum) as { accepted: unknown }).accepted !== null;
}

test("a quorum begins with all of its members: while one is silent, only markers are written", async () => {
  const world = new World();
  const one = world.open("one");
  world.down.add("c");

  expect(await one.get()).toBeUndefined();
  await expect(one.put("first")).rejects.toMatchObject({
    code: "STORE_TIMEOUT",
    mayHaveBeenApplied: false,
    message: expect.stringMatching(/begins with all of its members: c does not answer/),
  });
  expect(world.services.a.record(ELECTION)).toBeUndefined();
  expect(world.services.a.record(ROSTER)).toBeUndefined();

  world.down.delete("c");
  await world.clock.advance(3_000);
  expect(await one.put("first")).toMatchObject({ stored: true });
  world.down.add("b");
  expect(nonceOf(await world.open("other").get())).toBe("first");
});

test("a quorum does not begin while a member that answers reads does not acknowledge its promise", async () => {
  const world = new World();
  world.passage = ({ to, operation }) =>
    to === "c" && operation === "put" && world.services.c.record(ROSTER) === undefined && isMarked(world, "c") ? LOST : undefined;
  await expect(world.open("one").put("first")).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  await world.clock.advance(30_000);

  expect((world.services.a.record(ROSTER) as Partial<LeaseRecord>).value).toBeUndefined();
});

test("processes that found a quorum at once agree on its members", async () => {
  const world = new World();
  const processes = ["p", "q", "r"].map((name) => world.open(name));
  const outcomes = await world.clock.runUntil(
    Promise.all(processes.map((process) => process.startPut("mine", undefined, 5_000))),
  );

  expect(outcomes.filter(({ stored }) => stored)).toHaveLength(1);
  const { a, b, c } = world.services;
  expect(new Set([a, b, c].map((store) => (store.record(ROSTER) as { value: string }).value)).size).toBe(1);
});

test("an unfinished founding does not block another one in which a store was replaced", async () => {
  const world = new World();
  // Each store gets a blank record, and its marker in place of that. Then it promises a ballot of the first roster to two
  // processes, one after another, which die.
  for (const [by, putsThatArrive] of [
    ["first", 9],
    ["second", 3],
  ] as const) {
    let puts = 0;
    world.passage = ({ operation }) => (operation === "put" && (puts += 1) > putsThatArrive ? { arrivals: [] } : undefined);
    const dying = world.open(by);
    await expect(dying.put("lost")).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    dying.clock.kill();
  }
  expect(world.services.c.record(ROSTER)).toBeDefined();
  world.passage = () => undefined;

  const other = world.open("other", { c: new SimulatedRecordService(world.clock) });
  expect(await other.put("mine")).toMatchObject({ stored: true });
});

test("a read fails while a member is silent and another has promised the first roster, and does not report an empty quorum", async () => {
  const world = new World();
  world.down.add("c");
  expect(await world.open("early").get()).toBeUndefined();
  world.down.clear();
  const puts = new Map<string, number>();
  // Each store gets its marker in two writes. Of the promises that follow one arrives.
  world.passage = ({ to, operation }) => {
    if (operation !== "put") return undefined;
    puts.set(to, (puts.get(to) ?? 0) + 1);
    return puts.get(to)! > 2 && to !== "a" ? { arrivals: [] } : undefined;
  };
  await world
    .open("founder")
    .put("any")
    .catch(() => undefined);
  expect(puts.get("a")).toBeGreaterThan(2);
  world.passage = () => undefined;
  world.down.add("c");

  await expect(world.open("other").get()).rejects.toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: false });
});

test("two lists that share a member do not both begin, also on a new election, and while that member is silent", async () => {
  const world = await World.founded();
  const more = { d: new SimulatedRecordService(world.clock), e: new SimulatedRecordService(world.clock) };
  const stranger = world.open("stranger", more, ["c", "d", "e"]);
  world.down.add("c");
  await expect(stranger.put("first")).rejects.toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: false });
  world.down.delete("c");
  await world.clock.advance(3_000);

  await expect(stranger.put("first")).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: expect.stringMatching(/^c .*quorum of a, b, c, but this quorum is of c, d, e/),
  });
  await expect(stranger.get()).rejects.toMatchObject({ code: "CONFIGURATION" });
  expect(more.d.record(ELECTION)).toBeUndefined();
});

test.each([ROSTER, MARKER])("an election may not have the name '%s'", async (name) => {
  const world = await World.founded();

  await expect(world.open("one").get(true, name)).rejects.toMatchObject({ code: "CONFIGURATION" });
});

test("the first write of a quorum takes 16 round trips and 69 requests", async () => {
  const world = new World();
  world.passage = () => ({ arrivals: [{ afterMs: 50, replyAfterMs: 50 }] });
  const sentMs = world.clock.monotonicMs();
  expect(await world.clock.runUntil(world.open("one").startPut("first", undefined, 20_000))).toMatchObject({ stored: true });
  expect(world.clock.monotonicMs() - sentMs).toBe(1_600);
  await world.clock.advance(2_000);
  expect(world.requests()).toHaveLength(69);
});

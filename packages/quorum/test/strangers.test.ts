/** Tests stores that are not the quorum's: a process that was given one says so, and counts without it. */
import { SimulatedRecordService } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { ROSTER } from "../src/roster.ts";
import { ELECTION, OTHER_ELECTION, World, write, type Client, type Name } from "./world.ts";

type Store = SimulatedRecordService;

test("a process with a replaced store warns once, at the read that shows the new roster", async () => {
  const world = await World.founded();
  const renewed = world.open("renewed", { c: new SimulatedRecordService(world.clock) });
  await write(world, renewed, ELECTION, 4);
  const old = world.open("old");
  const told = [expect.stringMatching(/^The quorum's member c .* does not count: its store is another one than the quorum's/)];
  world.warnings.splice(0);

  await old.get();
  expect(world.warnings).toEqual(told);
  await old.get();
  expect(world.warnings).toEqual(told);
});

test("a store of another quorum is refused as a member", async () => {
  const world = await World.founded();
  const [c, d, e] = ["c", "d", "e"].map(() => new SimulatedRecordService(world.clock)) as [Store, Store, Store];
  await world.open("others", { c, d, e }, ["c", "d", "e"]).put("first");

  await expect(world.open("one", { c }).get()).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: expect.stringMatching(/^c .*quorum of c, d, e, but this quorum is of a, b, c/),
  });
});

test("a check without a majority proves nothing, and says so", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await one.get();
  world.down.add("b").add("c");

  await expect(one.check()).rejects.toMatchObject({
    code: "STORE_TIMEOUT",
    mayHaveBeenApplied: false,
    message: expect.stringContaining("No majority of a, b, c answers."),
  });
});

/** Returns the roster that b keeps. */
const rosterAtB = (world: World): unknown => (world.services.b.record(ROSTER) as { value: string }).value;

test("a process that uses one store for two members does not replace the second member's store", async () => {
  const world = await World.founded();
  const roster = rosterAtB(world);
  const wrong = world.open("wrong", { c: world.services.a });
  await write(world, wrong, ELECTION, 4);

  expect(rosterAtB(world)).toBe(roster);
  await expect(wrong.check()).rejects.toThrow("Members a and c are the same store");
});

test("a process that exchanges two of five stores replaces none of them", async () => {
  const world = new World();
  const [d, e] = [new SimulatedRecordService(world.clock), new SimulatedRecordService(world.clock)];
  const names = ["a", "b", "c", "d", "e"];
  await world.open("founder", { d, e }, names).put("any", undefined, OTHER_ELECTION);
  const roster = rosterAtB(world);
  const wrong = world.open("wrong", { d, e, a: world.services.c, c: world.services.a }, names);
  await write(world, wrong, ELECTION, 4);

  expect(rosterAtB(world)).toBe(roster);
  await expect(wrong.check()).rejects.toThrow(
    /a \(simulated\) does not count: its store is another one than the quorum's\. .*, that of c, and/,
  );
});

test("a process that exchanges two of three stores has no majority, and its error names both", async () => {
  const world = await World.founded();
  const wrong = world.open("wrong", { a: world.services.c, c: world.services.a });

  const why = / a: its store is another one .*, that of c, .* c: its store is another one .*, that of a,/;
  await expect(wrong.put("first")).rejects.toMatchObject({ code: "STORE_REJECTED", message: expect.stringMatching(why) });
});

/** Creates another quorum, whose members have the same names. */
async function others(world: World): Promise<{ readonly stores: Readonly<Record<Name, Store>>; readonly theirs: Client }> {
  const [a, b, c] = ["a", "b", "c"].map(() => new SimulatedRecordService(world.clock)) as [Store, Store, Store];
  const theirs = world.open("theirs", { a, b, c });
  await write(world, theirs, OTHER_ELECTION, 2);
  return { stores: { a, b, c }, theirs };
}

test("a store of another quorum with the same names is not taken in, and both quorums go on", async () => {
  const world = await World.founded();
  const roster = rosterAtB(world);
  const { stores, theirs } = await others(world);
  const wrong = world.open("wrong", { c: stores.c });
  await write(world, wrong, ELECTION, 4);

  expect(rosterAtB(world)).toBe(roster);
  await expect(wrong.check()).resolves.toEqual({ stored: false });
  expect(wrong.store.members()[2]).toMatchObject({ counts: false, waitsFor: expect.stringContaining("another one than") });
  world.passage = ({ by, to }) => (by === "theirs" && to === "a" ? { arrivals: [] } : undefined);
  await write(world, theirs, OTHER_ELECTION, 2);
});

test("a process whose stores are of two quorums follows neither if one roster is newer, and its error says so", async () => {
  const world = await World.founded();
  const { stores, theirs } = await others(world);
  const { a, b } = stores;
  const taken = { a, b, c: new SimulatedRecordService(world.clock) };
  await write(world, world.open("taking in", taken), OTHER_ELECTION, 4);
  await write(world, theirs, OTHER_ELECTION, 1);

  const why = "b: its store is another one than the quorum's.";
  await expect(world.open("wrong", { a }).put("first")).rejects.toMatchObject({
    code: "STORE_REJECTED",
    message: expect.stringContaining(why),
  });
});

test("empty stores beside one of a quorum that has begun do not found another, and the error names them", async () => {
  const world = await World.founded();
  const [a, b] = ["a", "b"].map(() => new SimulatedRecordService(world.clock)) as [Store, Store];

  const why =
    "a: it is empty, but a quorum that has begun includes c: give this process that quorum's stores, or only empty stores.";
  const begun = world.open("one", { a, b });
  await expect(begun.put("first")).rejects.toMatchObject({ code: "STORE_REJECTED", message: expect.stringContaining(why) });
  // A silent member may have another store by now.
  world.down.add("b");
  await expect(begun.put("first")).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
});

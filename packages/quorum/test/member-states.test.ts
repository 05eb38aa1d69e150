/** Tests what a process knows, logs and returns about members: which count, for how long, and what the others wait for. */
import { Elector, MemoryLeaseStore } from "@leasehold/core";
import { RecordLeaseStore } from "@leasehold/core/provider";
import { SimulatedRecordService, VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { QuorumLeaseStore } from "../src/index.ts";
import { MARKER, ROSTER } from "../src/roster.ts";
import { ELECTION, LEASE_MS, nonceOf, OTHER_ELECTION, World, write, type Client } from "./world.ts";

type Store = SimulatedRecordService;

const RECORDS = [ELECTION, OTHER_ELECTION, MARKER, ROSTER];
const EMPTY = "it is empty, and a majority of the others has to take it in.";

/** Returns a world whose c was restored from before it was replaced, with an election that nobody leads. */
async function restored(): Promise<World> {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, ELECTION, 2);
  const { c } = world.services;
  const backups = RECORDS.map((record) => [record, c.backUp(record)] as const);
  world.empty("c");
  await write(world, one, OTHER_ELECTION, 6);
  await write(world, one, ELECTION, 4);
  for (const [record, backup] of backups) c.restore(record, backup);
  return world;
}

test("a standby competes beside a member restored from before it was replaced, and says that this member does not count", async () => {
  const world = await restored();
  const { store, clock } = world.open("standby");
  const leases = new RecordLeaseStore(store, { clock });
  const elector = new Elector({ store: leases, election: ELECTION, logger: false });
  world.warnings.splice(0);
  const run = elector.run(async ({ ended }) => void (await ended));
  await world.clock.advance(2 * LEASE_MS);

  expect(elector.isLeader).toBe(true);
  expect(world.warnings).toEqual([
    expect.stringMatching(/^The quorum's member c \(simulated\) does not count: its store is another one/),
  ]);
  expect(store.members()[2]).toMatchObject({ name: "c", counts: false, waitsFor: expect.stringContaining("or empty this one") });
  // After that c is taken in.
  world.empty("c");
  await world.clock.advance(2 * LEASE_MS);
  expect(store.members()[2]).toMatchObject({ name: "c", counts: true, waitsFor: undefined });
  await world.clock.runUntil(elector.stop());
  await run;
});

test("an administrator takes a restored member in, with an election that nobody leads; then another one may be down", async () => {
  const world = await restored();
  const admin = world.open("admin");
  await admin.get();
  expect(admin.store.members()[2]).toMatchObject({ counts: false });
  await world.clock.runUntil(admin.store.heal("c", [ELECTION]));
  expect(admin.store.members()[2]).toMatchObject({ counts: true });

  for (const away of ["a", "b"] as const) {
    world.down.add(away);
    expect(nonceOf(await world.open(`without ${away}`).get())).toBe("write 3");
    world.down.delete(away);
  }
});

test("an administrator takes an emptied member in, and brings it an election that no process writes", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, ELECTION, 2);
  world.empty("c");
  await world.clock.runUntil(world.open("admin").store.heal("c", [ELECTION, OTHER_ELECTION]));
  world.empty("b");
  await world.clock.runUntil(world.open("admin").store.heal("b", [ELECTION, OTHER_ELECTION]));
  world.down.add("a");

  expect(nonceOf(await world.open("other").get())).toBe("write 1");
});

test("heal() refuses a store of another member, or of another quorum", async () => {
  const world = await World.founded();
  const roster = world.services.b.record(ROSTER);
  const [a, b, foreign] = Array.from({ length: 3 }, () => new SimulatedRecordService(world.clock)) as [Store, Store, Store];
  await world.open("theirs", { a, b, c: foreign }).put("any", undefined, OTHER_ELECTION);
  for (const c of [foreign, world.services.a]) {
    const heal = world.open("wrong", { c }).store.heal("c", []);
    await expect(world.clock.runUntil(heal)).rejects.toMatchObject({
      code: "CONFIGURATION",
      message: expect.stringContaining("The member c is not taken in: its store is another one than the quorum's."),
    });
  }
  expect(world.services.b.record(ROSTER)).toEqual(roster);
  await expect(world.clock.runUntil(world.open("one").store.heal("d", []))).rejects.toThrow("'d' is no member of this quorum");
  const fresh = new World();
  const tooEarly = fresh.open("new").store.heal("a", []);
  await expect(fresh.clock.runUntil(tooEarly)).rejects.toThrow("This quorum has not begun");
});

test("one warning names an emptied member, and one message says that it counts again after it was taken in and written", async () => {
  const world = await World.founded();
  const [one, observer] = [world.open("one"), world.open("observer")];
  await write(world, one, ELECTION, 2);
  await observer.get();
  expect(observer.store.members()).toMatchObject(["a", "b", "c"].map((name) => ({ name, store: "simulated", counts: true })));
  world.empty("c");
  world.warnings.splice(0);
  await observer.get();
  await world.clock.advance(3_000);
  await observer.get();

  const [, , c] = observer.store.members();
  expect(c).toMatchObject({ name: "c", counts: false, waitsFor: EMPTY });
  expect(c?.forMs).toBeGreaterThan(3_000);
  expect(c?.forMs).toBeLessThan(3_100);
  expect(world.warnings).toEqual([expect.stringContaining(`c (simulated) does not count: ${EMPTY}`)]);
  await write(world, one, ELECTION, 5);
  await observer.get();
  expect(observer.store.members()[2]).toMatchObject({ counts: true, waitsFor: undefined });
  expect(observer.store.members()[2]?.forMs).toBeLessThan(100);
});

test("a member that counts for one election but not for another one does not count", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, ELECTION, 2);
  world.empty("c");
  await write(world, one, OTHER_ELECTION, 5);
  await one.get(true, OTHER_ELECTION);
  expect(one.store.members()[2]).toMatchObject({ counts: true });
  await one.get(true, ELECTION);
  await one.get(true, OTHER_ELECTION);

  const waitsFor = expect.stringMatching(/^its store was emptied or is new, and has nothing of this election yet/);
  expect(one.store.members()[2]).toMatchObject({ counts: false, waitsFor });
});

/** Lets an observer find the others split, while c is away. Returns it, and the process that continues to write. */
async function foundSplit(world: World): Promise<{ readonly one: Client; readonly observer: Client }> {
  const [one, observer] = [world.open("one"), world.open("observer")];
  await write(world, one, ELECTION, 2);
  await observer.get(false);
  world.passage = ({ by, to, operation }) =>
    (by === "one" && to === "b" && operation === "put") || to === "c" ? { arrivals: [] } : undefined;
  const version = (await one.get())?.version;
  await one.put("split", version).catch(() => undefined);
  await observer.get(false);
  expect(observer.store.members()[2]).toMatchObject({ name: "c", counts: false, waitsFor: "no answer in time." });
  world.passage = () => undefined;
  return { one, observer };
}

test("a member that answers again counts, although two others are enough for each poll from then on", async () => {
  const world = await World.founded();
  const { one, observer } = await foundSplit(world);
  await write(world, one, ELECTION, 2);
  await observer.get(false);
  await world.clock.advance(1_000);

  expect(observer.store.members()[2]).toMatchObject({ counts: true, waitsFor: undefined });
});

test("a member that had forgotten counts once a poll sees what was written anew, even as the slowest answer", async () => {
  const world = await World.founded();
  const [one, observer] = [world.open("one"), world.open("observer")];
  await write(world, one, ELECTION, 2);
  await observer.get();
  const old = world.backup("c");
  await write(world, one, ELECTION, 2);
  await observer.get();
  world.restore("c", old);
  await observer.get();
  expect(observer.store.members()[2]).toMatchObject({ counts: false, waitsFor: expect.stringContaining("it has forgotten") });
  world.passage = ({ by, to }) =>
    by === "observer" && to === "c" ? { arrivals: [{ afterMs: 20, replyAfterMs: 20 }] } : undefined;
  await observer.get(false);
  await world.clock.advance(1_000);
  expect(observer.store.members()[2]).toMatchObject({ counts: false });
  await write(world, one, ELECTION, 3);
  await observer.get(false);
  await world.clock.advance(1_000);

  expect(observer.store.members()[2]).toMatchObject({ counts: true });
});

test("a member that was silent for an election's only read counts once it answers for another one", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, ELECTION, 2);
  world.down.add("c");
  await one.get(true, "asked once");
  expect(one.store.members()[2]).toMatchObject({ counts: false });
  world.down.delete("c");
  await one.get(true, ELECTION);

  expect(one.store.members()[2]).toMatchObject({ counts: true, waitsFor: undefined });
});

test("a check finds each member that does not count, and an elector's health shows them", async () => {
  const clock = new VirtualClock();
  const [a, b, c] = [new MemoryLeaseStore({ clock }), new MemoryLeaseStore({ clock }), new MemoryLeaseStore({ clock })];
  const first = new QuorumLeaseStore({ members: { a, b, c }, clock, logger: false });
  const limits = { timeoutMs: 1_000 };
  await clock.runUntil(
    first.acquire({ election: "e", candidateId: "x", leaseDurationMs: 15_000, renewIntervalMs: 5_000, ...limits }),
  );
  const emptied = { a, b, c: new MemoryLeaseStore({ clock }) };
  const store = new QuorumLeaseStore({ members: emptied, clock, logger: false });

  await clock.runUntil(store.check({ election: "e", ...limits }));
  expect(store.members()[2]).toMatchObject({ name: "c", store: "memory", waitsFor: EMPTY });
  const { members } = new Elector({ store, election: "e", logger: false }).health();
  expect(members?.map(({ name, counts }) => [name, counts])).toEqual([
    ["a", true],
    ["b", true],
    ["c", false],
  ]);
});

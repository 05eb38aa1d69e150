/** Tests the ages of nonces by the members' own clocks: the age that every member of one majority shows. */
import { MemoryLeaseStore } from "@leasehold/core";
import type { StoreClock, LeaseRecord, StoredRecord } from "@leasehold/core/provider";
import { ProcessClock, SimulatedRecordService, VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { QuorumLeaseStore } from "../src/index.ts";
import { QuorumRecordStore } from "../src/quorum-record-store.ts";
import { ELECTION, recordOf, versionOf, World } from "./world.ts";

const EXACT = { toleranceMs: 0, exact: true };
const ageOf = (stored: StoredRecord | undefined): readonly number[] | undefined => stored?.nonceAgeMs?.map(Math.round);

/** Returns a world whose members tell ages exactly, as Firestore does. */
const withClocks = (storeClock: StoreClock = EXACT): Promise<World> => World.founded({ storeClock });

test("a nonce is as old as every member of some majority shows, by its own clock", async () => {
  const world = await withClocks();
  const one = world.open("one");
  await one.put("first");
  await world.clock.advance(7_000);
  // Two members' clocks are set: one far ahead, one back.
  world.services.a.stepClock(3_600_000);
  world.services.b.stepClock(-5_000);

  const [minMs = 0, maxMs = 0] = (await one.get())?.nonceAgeMs ?? [];
  expect(minMs).toBeGreaterThan(6_900);
  expect(minMs).toBeLessThan(7_100);
  expect(maxMs).toBeGreaterThan(3_600_000);
  world.services.c.stepClock(-3_000);
  expect((await one.get())?.nonceAgeMs?.[0]).toBeLessThan(4_100);
});

test("a member that was caught up later shows a lower age, and is not part of the majority with the greatest", async () => {
  const world = await withClocks();
  const one = world.open("one");
  world.down.add("c");
  const first = versionOf(await one.put("first"));
  await world.clock.advance(2_000);
  world.down.delete("c");
  await world.clock.advance(3_000);
  const kept = { ifVersion: first, keepsNonce: true, signal: new AbortController().signal, timeoutMs: 1_000 };
  await world.clock.runUntil(one.store.put(ELECTION, { ...recordOf("first"), broken: { reason: "any", id: "x" } }, kept));
  await world.clock.advance(1_000);
  expect((await one.get())?.nonceAgeMs?.[0]).toBeGreaterThan(5_900);

  // Without a or b, the majority shows no more than c shows.
  world.down.add("a");
  expect((await one.get())?.nonceAgeMs?.[0]).toBeLessThan(1_500);
});

test("a member keeps a nonce if its own record has it, whatever was chosen", async () => {
  const world = await withClocks();
  const [one, other] = [world.open("one"), world.open("other")];
  let version = versionOf(await one.put("first"));
  await world.clock.advance(20_000);
  world.down.add("c");
  version = versionOf(await one.put("second", version));
  world.down.delete("c");
  await world.clock.advance(1_000);
  // The write keeps the chosen nonce, which c does not have.
  const kept = { ifVersion: version, keepsNonce: true, signal: new AbortController().signal, timeoutMs: 1_000 };
  await world.clock.runUntil(other.store.put(ELECTION, { ...recordOf("second"), broken: { reason: "any", id: "x" } }, kept));
  await world.clock.advance(1_000);
  world.down.add("a");

  // The upper bound is that of the member with the greatest age.
  expect((await other.get())?.nonceAgeMs?.[1]).toBeLessThan(3_000);
});

test("a write that restarts the age of a nonce does so at every member", async () => {
  const world = await withClocks();
  const one = world.open("one");
  const first = versionOf(await one.put("first"));
  await world.clock.advance(20_000);
  const anew = { ifVersion: first, keepsNonce: false, signal: new AbortController().signal, timeoutMs: 1_000 };
  await world.clock.runUntil(one.store.put(ELECTION, recordOf("first"), anew));
  await world.clock.advance(1_000);

  expect((await one.get())?.nonceAgeMs?.[1]).toBeLessThan(1_100);
});

test("the replaced record that is returned during a split has no age", async () => {
  const world = await withClocks();
  const [one, other] = [world.open("one"), world.open("other")];
  const first = versionOf(await one.put("first"));
  await world.clock.advance(2_000);
  world.passage = ({ operation, to }) => (operation === "put" && to !== "a" ? { arrivals: [] } : undefined);
  await expect(one.put("second", first)).rejects.toMatchObject({ mayHaveBeenApplied: true });
  world.passage = () => undefined;

  const look = await other.get(false);
  expect([look?.version, ageOf(look)]).toEqual([first, undefined]);
});

test("if a member's clock may step, the age comes with the writer's wall clock, which orders and repairs keep", async () => {
  const world = await withClocks({ toleranceMs: 100, exact: false, mayStep: true });
  const one = world.open("one");
  expect(one.store.capabilities.storeClock).toEqual({ toleranceMs: 100, exact: false, mayStep: true });
  await one.get();
  // The wall clock is rounded up, because a greater age is less safe.
  await world.clock.advance(0.25);
  const sentMs = Math.ceil(world.clock.wallMs());
  expect(sentMs).toBeGreaterThan(world.clock.wallMs());
  const first = versionOf(await one.put("first"));
  await world.clock.advance(5_000);
  expect((await one.get())?.nonceWallMs).toBe(sentMs);
  for (const [index, by] of [one, world.open("other")].entries()) {
    const { version } = (await by.get()) as StoredRecord;
    const kept = { ifVersion: version, keepsNonce: true, signal: new AbortController().signal, timeoutMs: 1_000 };
    const broken = { reason: "any", id: `${index}` };
    await world.clock.runUntil(by.store.put(ELECTION, { ...recordOf("first"), broken }, kept));
    expect((await by.get())?.nonceWallMs).toBe(sentMs);
  }
  expect(first).not.toBe((await one.get())?.version);
});

test.each<[string, ReadonlyArray<StoreClock | undefined>, StoreClock | undefined]>([
  ["a clock at each", [EXACT, EXACT, EXACT], { ...EXACT, mayStep: false }],
  ["one without", [EXACT, EXACT, undefined], undefined],
  ["the best majority", [{ toleranceMs: 4_000, exact: false }, EXACT, EXACT], { toleranceMs: 0, exact: false, mayStep: false }],
  [
    "the best majority, in whatever order",
    [{ toleranceMs: 30, exact: true }, EXACT, { toleranceMs: 20, exact: true }],
    { toleranceMs: 20, exact: true, mayStep: false },
  ],
  [
    "one that may step",
    [EXACT, EXACT, { toleranceMs: 100, exact: false, mayStep: true }],
    { toleranceMs: 100, exact: false, mayStep: true },
  ],
])("a quorum tells ages as far as its members do: %s", (_, clocks, expected) => {
  const world = new VirtualClock();
  const stores = clocks.map((storeClock) => new SimulatedRecordService(world, { storeClock }).connect(new ProcessClock(world)));
  const [a, b, c] = stores as [(typeof stores)[0], (typeof stores)[0], (typeof stores)[0]];

  expect(new QuorumRecordStore({ a, b, c }, world).capabilities.storeClock).toEqual(expected);
});

test("occurrences use those of the members and the same roster; a member without occurrences leaves the quorum without them", async () => {
  const clock = new VirtualClock();
  const members = { a: new MemoryLeaseStore({ clock }), b: new MemoryLeaseStore({ clock }), c: new MemoryLeaseStore({ clock }) };
  const quorum = new QuorumLeaseStore({ members, clock });
  const times = { leaseDurationMs: 15_000, renewIntervalMs: 5_000, timeoutMs: 1_000 };
  const retention = { retentionMs: 2 * 86_400_000 };
  const claims = quorum.occurrences?.(ELECTION, retention);
  const claim = await clock.runUntil(claims!.acquire({ election: "today", candidateId: "one", ...times }));
  if (!claim.acquired) return expect.fail("Nobody else competes.");
  expect(await claims?.complete(claim.lease, { timeoutMs: 1_000 })).toBe("released");

  const signal = new AbortController().signal;
  const stored = await members.a.occurrences(ELECTION).records.get("today", { consistent: true, signal });
  expect(stored?.data as LeaseRecord).toMatchObject({ schema: 4, done: true });
  const other = new QuorumLeaseStore({ members, clock }).occurrences?.(ELECTION, retention);
  expect(await clock.runUntil(other!.acquire({ election: "today", candidateId: "two", ...times }))).toMatchObject({
    acquired: false,
  });

  const records = Object.fromEntries(Object.entries(members).map(([name, member]) => [name, member.records]));
  expect(new QuorumLeaseStore({ members: records, clock }).occurrences).toBeUndefined();
});

test("a rival's write that a put completes keeps the age that it had", async () => {
  const world = await withClocks();
  const [one, other] = [world.open("one"), world.open("other")];
  const first = versionOf(await one.put("first"));
  await other.get();
  world.passage = ({ operation, to }) => (operation === "put" && to !== "a" ? { arrivals: [] } : undefined);
  await expect(one.put("second", first)).rejects.toMatchObject({ mayHaveBeenApplied: true });
  world.passage = () => undefined;
  await world.clock.advance(20_000);

  expect(await other.put("third", first)).toMatchObject({ stored: false, current: { data: { nonce: "second" } } });
  expect((await other.get())?.nonceAgeMs?.[1]).toBeGreaterThan(19_000);
});

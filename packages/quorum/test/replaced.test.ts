/** Tests the replacement of a member's store while processes run. */
import { getEventListeners } from "node:events";
import { ProcessClock, SimulatedRecordService, VirtualClock } from "@leasehold/core/testing";
import { MemoryRecordStore, type LeaseRecord } from "@leasehold/core/provider";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Ballot } from "../src/ballot.ts";
import { callLimits } from "../src/call-limits.ts";
import { Member } from "../src/member.ts";
import { Membership } from "../src/membership.ts";
import { Register } from "../src/register.ts";
import { MARKER, ROSTER, rosterRecord } from "../src/roster.ts";
import { ELECTION, NAMES, nonceOf, OTHER_ELECTION, versionOf, World, write, type Client } from "./world.ts";

/** Returns a member's record with its accepted proposal under a later ballot. */
function repaired(data: unknown): unknown {
  const record = data as { readonly quorum: string };
  const note = JSON.parse(record.quorum) as { readonly accepted: Ballot };
  const later = (rounds: number): Ballot => ({ ...note.accepted, round: note.accepted.round + rounds });
  return { ...record, quorum: JSON.stringify({ ...note, accepted: later(10), promised: later(11) }) };
}

/** Leaves c replaced by a fresh store. Both processes have used the election; the one with the old store did so first. */
async function replaced(): Promise<{
  world: World;
  old: Client;
  renewed: Client;
  fresh: { readonly c: SimulatedRecordService };
}> {
  const world = await World.founded();
  const old = world.open("old");
  await write(world, old, ELECTION, 2);
  const fresh = { c: new SimulatedRecordService(world.clock) };
  const renewed = world.open("renewed", fresh);
  await write(world, renewed, ELECTION, 4);
  return { world, old, renewed, fresh };
}

test("a member is replaced while processes run, and a process with the old store cannot make a majority with it", async () => {
  const { world, old, renewed } = await replaced();
  expect(nonceOf(await old.get())).toBe("write 3");
  await write(world, old, ELECTION, 1);

  world.passage = ({ by, to }) => (by === "old" && to === "b" ? { arrivals: [] } : undefined);
  await expect(old.get()).rejects.toMatchObject({
    code: "STORE_TIMEOUT",
    message: expect.stringMatching(
      / b: no answer in time\. c: its store is another one than the quorum's\. .* or empty this one/,
    ),
  });
  await expect(old.check()).resolves.toEqual({ stored: false });
  expect(old.store.members()).toMatchObject([
    { name: "a", counts: true, waitsFor: undefined },
    { name: "b", counts: false, waitsFor: "no answer in time." },
    { name: "c", counts: false, waitsFor: expect.stringContaining("its store is another one") },
  ]);
  world.passage = () => undefined;
  await expect(renewed.check()).resolves.toEqual({ stored: false });

  await write(world, renewed, ELECTION, 2);
  world.down.add("a");
  expect(nonceOf(await renewed.get())).toBe("write 1");
  await write(world, renewed, ELECTION, 1);
});

test("a replacement store counts for an election once a process that knows of it has written both others", async () => {
  const world = await World.founded();
  const old = world.open("old");
  await write(world, old, ELECTION, 2);
  const fresh = { c: new SimulatedRecordService(world.clock) };
  // The new store is taken in, while this election is not written.
  await write(world, world.open("renewed", fresh), OTHER_ELECTION, 4);
  // For the process with the old store, that store and a are a majority. For the others the new store and b must not be another
  // one.
  world.passage = ({ by, to }) => ((by === "old" && to === "b") || (by !== "old" && to === "a") ? { arrivals: [] } : undefined);
  const next = world.open("next", fresh);

  await expect(next.get()).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  await expect(next.put("fork", (await old.get())?.version)).rejects.toMatchObject({ mayHaveBeenApplied: false });
  await write(world, old, ELECTION, 1);
});

test("a replacement store does not count if its process has learned of it only since it wrote the others", async () => {
  const world = await World.founded();
  const old = world.open("old");
  await write(world, old, ELECTION, 2);
  const fresh = { c: new SimulatedRecordService(world.clock) };
  const one = world.open("one", fresh);
  const before = await one.get();
  await write(world, world.open("renewed", fresh), OTHER_ELECTION, 4);
  // The process `one` writes a and b by the old roster. It adopts the new one in a call for another election. Then it writes c.
  world.passage = ({ by, to }) => (by === "one" && to === "c" ? { arrivals: [{ afterMs: 20, replyAfterMs: 1 }] } : undefined);
  const writing = one.startPut("first", before?.version);
  await world.clock.advance(10);
  await one.get(false, OTHER_ELECTION);
  const version = versionOf(await writing);
  await world.clock.advance(1_000);
  expect(fresh.c.record(ELECTION)).toMatchObject({ nonce: "first" });

  world.passage = ({ by, to }) => ((by === "one" && to === "b") || (by === "old" && to === "a") ? { arrivals: [] } : undefined);
  await expect(one.put("second", version)).rejects.toMatchObject({ mayHaveBeenApplied: true });
  expect(await old.put("third", version)).toMatchObject({ stored: true });
});

test("a process with the old store adopts the new roster, also if only a second read of a member shows it", async () => {
  const world = await World.founded();
  const [old, other] = [world.open("old"), world.open("other")];
  await write(world, other, ELECTION, 2);
  const base = (await old.get())?.version;
  const renewed = world.open("renewed", { c: new SimulatedRecordService(world.clock) });
  await write(world, renewed, OTHER_ELECTION, 4);
  // The process `old` reads b before `renewed` has written, and the other members afterwards. So it reads b again, which takes a
  // while.
  const readsOfB = [1, 500];
  world.passage = ({ by, to, operation }) => {
    if (by !== "old") return undefined;
    if (to === "b" && operation === "get" && readsOfB.length > 0)
      return { arrivals: [{ afterMs: readsOfB.shift() as number, replyAfterMs: 1 }] };
    if (readsOfB.length > 0) return { arrivals: [{ afterMs: 100, replyAfterMs: 1 }] };
    return to === "a" ? { arrivals: [] } : undefined;
  };
  const late = old.startPut("late", base, 4_000).catch(() => undefined);
  await world.clock.advance(10);
  let version = (await other.get())?.version;
  for (const nonce of ["x", "y", "z"]) version = versionOf(await other.put(nonce, version));
  await world.clock.advance(150);
  // Meanwhile one write takes the new store in for this election, too.
  version = versionOf(await renewed.put("chosen", (await renewed.get())?.version));
  await world.clock.runUntil(late);
  world.passage = ({ by, to }) =>
    (by === "old" && to === "a") || (by === "renewed" && to === "b") ? { arrivals: [] } : undefined;

  const outcomes = await world.clock.runUntil(
    Promise.allSettled([old.startPut("mine", version), renewed.startPut("yours", version)]),
  );
  expect(outcomes.filter((outcome) => outcome.status === "fulfilled" && outcome.value.stored)).toHaveLength(1);
});

test("a late read of an older roster does not replace a newer one", async () => {
  const clock = new VirtualClock();
  const names = ["a", "b", "c"];
  const members = names.map((name) => new Member(name, new MemoryRecordStore(clock), names, clock));
  const membership = new Membership(members, { id: "one", lastRound: 0 }, clock);
  const { signal } = new AbortController();
  const limits = callLimits(clock, signal, 1_000);
  const get = vi.spyOn(Register.prototype, "get");
  onTestFinished(() => get.mockRestore());
  const shows = (number: number): void => {
    const record = rosterRecord({ number, incarnations: {}, later: [], past: [] });
    get.mockResolvedValueOnce({ proposal: { write: `${number}`, base: null, record } });
  };
  shows(2);
  await membership.load(limits);
  shows(1);
  await expect(membership.follow(3, limits)).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
    store: "quorum",
    operation: "get",
    election: ROSTER,
    mayHaveBeenApplied: false,
  });
  expect(membership.roster.number).toBe(2);
  // No listener and no timer is left.
  expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});

test("a roster that is read once more does not change what is known of a replaced store", async () => {
  const world = await World.founded();
  const renewed = world.open("renewed", { c: new SimulatedRecordService(world.clock) });
  await write(world, renewed, ELECTION, 4);
  const process = new ProcessClock(world.clock);
  const members = NAMES.map((name) => new Member(name, world.services[name].connect(process), NAMES, process));
  const membership = new Membership(members, { id: "old", lastRound: 0 }, process);
  const limits = callLimits(process, new AbortController().signal, 60_000);
  await world.clock.runUntil(membership.load(limits));
  for (let times = 0; times < 2; times += 1) {
    // No roster has this number, so all members are asked.
    await expect(world.clock.runUntil(membership.follow(99, limits))).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(membership.whyAbsent("c")).toContain("its store is another one than the quorum's");
  }
});

test("a replaced store does not become a member again", async () => {
  const { world, old } = await replaced();
  const before = world.services.a.record(ROSTER);

  for (let times = 0; times < 3; times += 1) {
    await world.clock.advance(20_000);
    await write(world, old, ELECTION, 2);
  }
  expect((world.services.a.record(ROSTER) as { value: string }).value).toBe((before as { value: string }).value);
});

test("a process learns the new roster even if members take most of their time", async () => {
  const { world, old, fresh } = await replaced();
  world.passage = () => ({ arrivals: [{ afterMs: 75, replyAfterMs: 75 }] });

  expect(nonceOf(await old.get())).toBe("write 3");
  expect(nonceOf(await world.open("new", fresh).get(false))).toBe("write 3");
});

test("a process whose replaced store is silent learns the new roster, although that takes longer than a call", async () => {
  const world = await World.founded();
  const old = world.open("old");
  await write(world, old, ELECTION, 1);
  const fresh = { c: new SimulatedRecordService(world.clock) };
  await write(world, world.open("renewed", fresh), ELECTION, 4);
  // A repair has reached only a and the new store. A process that reaches only a and b sees nothing chosen.
  for (const store of [world.services.a, fresh.c]) store.overwrite(ROSTER, repaired(store.record(ROSTER)));
  world.passage = ({ by, to }) =>
    by === "old" && to === "c" ? { arrivals: [] } : { arrivals: [{ afterMs: 40, replyAfterMs: 40 }] };

  await expect(old.get()).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  await world.clock.advance(1_000);
  expect(nonceOf(await old.get())).toBe("write 3");
});

test("a new store that has missed the roster gets it before it is needed to identify the members", async () => {
  const world = await World.founded();
  await write(world, world.open("one"), ELECTION, 2);
  const c = new SimulatedRecordService(world.clock);
  const renewed = world.open("renewed", { c });
  // Writes to the new store after its marker are lost.
  world.passage = ({ by, to, operation }) => {
    const isMarked = (c.record(MARKER) as LeaseRecord | undefined)?.quorum?.includes('"write":"') === true;
    return by === "renewed" && to === "c" && operation === "put" && isMarked ? { arrivals: [] } : undefined;
  };
  await write(world, renewed, ELECTION, 2);
  // The attempt to bring the roster to the new store fails. The next write makes another attempt.
  await world.clock.advance(12_000);
  world.passage = () => undefined;
  expect(c.record(ROSTER)).toBeUndefined();
  await write(world, renewed, ELECTION, 8);
  world.empty("b");
  await write(world, renewed, ELECTION, 8);

  expect(nonceOf(await world.open("next", { c }).get())).toBe("write 7");
});

/** How a member's store is replaced by another one while processes run, and what these go by. */
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

/** What a member has accepted, under a later ballot. */
function repaired(data: unknown): unknown {
  const record = data as { readonly quorum: string };
  const note = JSON.parse(record.quorum) as { readonly accepted: Ballot };
  const later = (rounds: number): Ballot => ({ ...note.accepted, round: note.accepted.round + rounds });
  return { ...record, quorum: JSON.stringify({ ...note, accepted: later(10), promised: later(11) }) };
}

/** Leaves c replaced by a fresh store while both processes have used the election, the one that has the old store first. */
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

test("a member is replaced while processes run, and who still has the old store cannot make a majority with it", async () => {
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

test("a new store in a member's place counts for an election once both others have been written by who knows of it", async () => {
  const world = await World.founded();
  const old = world.open("old");
  await write(world, old, ELECTION, 2);
  const fresh = { c: new SimulatedRecordService(world.clock) };
  // It is taken in, while this election is not written.
  await write(world, world.open("renewed", fresh), OTHER_ELECTION, 4);
  // To who runs with the old store, it and a are a majority; to the others the new one and b must not be another.
  world.passage = ({ by, to }) => ((by === "old" && to === "b") || (by !== "old" && to === "a") ? { arrivals: [] } : undefined);
  const next = world.open("next", fresh);

  await expect(next.get()).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  await expect(next.put("fork", (await old.get())?.version)).rejects.toMatchObject({ mayHaveBeenApplied: false });
  await write(world, old, ELECTION, 1);
});

test("who still has the old store goes by the new roster also where a member says so that is read again", async () => {
  const world = await World.founded();
  const [old, other] = [world.open("old"), world.open("other")];
  await write(world, other, ELECTION, 2);
  const base = (await old.get())?.version;
  const renewed = world.open("renewed", { c: new SimulatedRecordService(world.clock) });
  await write(world, renewed, OTHER_ELECTION, 4);
  // The old one reads b before the other has written, and the rest afterwards: so b is read again, which takes a while.
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
  // Meanwhile the new store is taken in for this election, too, by one write.
  version = versionOf(await renewed.put("chosen", (await renewed.get())?.version));
  await world.clock.runUntil(late);
  world.passage = ({ by, to }) =>
    (by === "old" && to === "a") || (by === "renewed" && to === "b") ? { arrivals: [] } : undefined;

  const outcomes = await world.clock.runUntil(
    Promise.allSettled([old.startPut("mine", version), renewed.startPut("yours", version)]),
  );
  expect(outcomes.filter((outcome) => outcome.status === "fulfilled" && outcome.value.stored)).toHaveLength(1);
});

test("who learns late who the members were goes by what has been learnt since", async () => {
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
  // Nothing of its questions is left.
  expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});

test("a roster that is found once more takes back nothing of what is known of a store that was replaced", async () => {
  const world = await World.founded();
  const renewed = world.open("renewed", { c: new SimulatedRecordService(world.clock) });
  await write(world, renewed, ELECTION, 4);
  const process = new ProcessClock(world.clock);
  const members = NAMES.map((name) => new Member(name, world.services[name].connect(process), NAMES, process));
  const membership = new Membership(members, { id: "old", lastRound: 0 }, process);
  const limits = callLimits(process, new AbortController().signal, 60_000);
  await world.clock.runUntil(membership.load(limits));
  for (let times = 0; times < 2; times += 1) {
    // Nobody knows of such a one: all are asked.
    await expect(world.clock.runUntil(membership.follow(99, limits))).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(membership.whyAbsent("c")).toContain("its store is another one than the quorum's");
  }
});

test("a store that was replaced does not come back", async () => {
  const { world, old } = await replaced();
  const before = world.services.a.record(ROSTER);

  for (let times = 0; times < 3; times += 1) {
    await world.clock.advance(20_000);
    await write(world, old, ELECTION, 2);
  }
  expect((world.services.a.record(ROSTER) as { value: string }).value).toBe((before as { value: string }).value);
});

test("members that take most of their time do not keep a process from learning who is one by now", async () => {
  const { world, old, fresh } = await replaced();
  world.passage = () => ({ arrivals: [{ afterMs: 75, replyAfterMs: 75 }] });

  expect(nonceOf(await old.get())).toBe("write 3");
  expect(nonceOf(await world.open("new", fresh).get(false))).toBe("write 3");
});

test("a process whose former store is silent learns who is a member by now, though that takes longer than a call", async () => {
  const world = await World.founded();
  const old = world.open("old");
  await write(world, old, ELECTION, 1);
  const fresh = { c: new SimulatedRecordService(world.clock) };
  await write(world, world.open("renewed", fresh), ELECTION, 4);
  // A repair has reached a and the new store only: to who reaches a and b only, nothing is chosen.
  for (const store of [world.services.a, fresh.c]) store.overwrite(ROSTER, repaired(store.record(ROSTER)));
  world.passage = ({ by, to }) =>
    by === "old" && to === "c" ? { arrivals: [] } : { arrivals: [{ afterMs: 40, replyAfterMs: 40 }] };

  await expect(old.get()).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  await world.clock.advance(1_000);
  expect(nonceOf(await old.get())).toBe("write 3");
});

test("a new store is given the roster though it has missed it, before it is needed to tell who the members are", async () => {
  const world = await World.founded();
  await write(world, world.open("one"), ELECTION, 2);
  const c = new SimulatedRecordService(world.clock);
  const renewed = world.open("renewed", { c });
  // What is written there after its marker is lost.
  world.passage = ({ by, to, operation }) => {
    const isMarked = (c.record(MARKER) as LeaseRecord | undefined)?.quorum?.includes('"write":"') === true;
    return by === "renewed" && to === "c" && operation === "put" && isMarked ? { arrivals: [] } : undefined;
  };
  await write(world, renewed, ELECTION, 2);
  // The attempt to bring it there comes to nothing, and the next write makes another one.
  await world.clock.advance(12_000);
  world.passage = () => undefined;
  expect(c.record(ROSTER)).toBeUndefined();
  await write(world, renewed, ELECTION, 8);
  world.empty("b");
  await write(world, renewed, ELECTION, 8);

  expect(nonceOf(await world.open("next", { c }).get())).toBe("write 7");
});

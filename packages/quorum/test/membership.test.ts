/** Which stores the members are: what they are known by, how one is replaced, and what becomes of one that was emptied. */
import { getEventListeners } from "node:events";
import { ProcessClock, SimulatedRecordService, VirtualClock } from "@leasehold/core/testing";
import { IMPOSSIBLE_VERSION, MemoryRecordStore, type LeaseRecord } from "@leasehold/core/provider";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Ballot } from "../src/ballot.ts";
import { callLimits } from "../src/call-limits.ts";
import { Member } from "../src/member.ts";
import { Membership } from "../src/membership.ts";
import { Register } from "../src/register.ts";
import { areRelated, MARKER, newestOf, ROSTER, rosterRecord, type Roster } from "../src/roster.ts";
import { ELECTION, NAMES, nonceOf, OTHER_ELECTION, recordOf, versionOf, World, write, type Client, type Name } from "./world.ts";

type Store = SimulatedRecordService;

/** Reads, and sends a write that must fail, as the engine's check does. */
async function check(world: World, by: Client): Promise<unknown> {
  await by.get().catch(() => undefined);
  const signal = new AbortController().signal;
  const limits = { ifVersion: IMPOSSIBLE_VERSION, keepsNonce: false, signal, timeoutMs: 1_000 };
  return await world.clock.runUntil(by.store.put(ELECTION, recordOf("probe"), limits));
}

/** What a member has accepted, under a later ballot. */
function repaired(data: unknown): unknown {
  const record = data as { readonly quorum: string };
  const note = JSON.parse(record.quorum) as { readonly accepted: Ballot };
  const later = (rounds: number): Ballot => ({ ...note.accepted, round: note.accepted.round + rounds });
  return { ...record, quorum: JSON.stringify({ ...note, accepted: later(10), promised: later(11) }) };
}

/** Leaves c emptied, a and c having accepted a record that b has missed; a promise of before that is still on its way to c for three seconds. */
async function emptiedBeforeAPromise(world: World): Promise<void> {
  const [one, slow] = [world.open("one"), world.open("slow")];
  world.passage = ({ by, to, operation }) => {
    if (by !== "slow" || operation !== "put") return undefined;
    return { arrivals: to === "c" ? [{ afterMs: 3_000 }] : [] };
  };
  const late = slow.startPut("late").catch(() => undefined);
  await world.clock.advance(20);
  world.down.add("b");
  await one.put("first");
  world.down.delete("b");
  world.empty("c");
  await world.clock.runUntil(late);
}

test("a quorum begins with all of its members: while one is silent, nothing is written but markers", async () => {
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
  expect(await one.put("first")).toMatchObject({ stored: true });
  world.down.add("b");
  expect(nonceOf(await world.open("other").get())).toBe("first");
});

test("many that begin at once agree on who the members are", async () => {
  const world = new World();
  const processes = ["p", "q", "r"].map((name) => world.open(name));
  const outcomes = await world.clock.runUntil(
    Promise.all(processes.map((process) => process.startPut("mine", undefined, 5_000))),
  );

  expect(outcomes.filter(({ stored }) => stored)).toHaveLength(1);
  const { a, b, c } = world.services;
  expect(new Set([a, b, c].map((store) => (store.record(ROSTER) as { value: string }).value)).size).toBe(1);
});

test("a beginning that was broken off does not keep others from beginning, once a store was given up for another one", async () => {
  const world = new World();
  // Each store is given a blank record, its marker in place of that, and promises a ballot of the first roster to one process after the other, which dies.
  for (const [by, putsThatArrive] of [
    ["first", 9],
    ["second", 3],
  ] as const) {
    let puts = 0;
    world.passage = ({ operation }) => (operation === "put" && (puts += 1) > putsThatArrive ? { arrivals: [] } : undefined);
    await expect(world.open(by).put("lost")).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  }
  expect(world.services.c.record(ROSTER)).toBeDefined();
  world.passage = () => undefined;

  const other = world.open("other", { c: new SimulatedRecordService(world.clock) });
  expect(await other.put("mine")).toMatchObject({ stored: true });
});

test("what one member has promised who is to be one says nothing while another is silent: they are not told to have none", async () => {
  const world = new World();
  world.down.add("c");
  expect(await world.open("early").get()).toBeUndefined();
  world.down.clear();
  const puts = new Map<string, number>();
  // Each is given its marker in two writes; of the promises that follow one arrives.
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

test("two lists that share a member do not both begin, also on a new election, and while that one is silent", async () => {
  const world = await World.founded();
  const more = { d: new SimulatedRecordService(world.clock), e: new SimulatedRecordService(world.clock) };
  const stranger = world.open("stranger", more, ["c", "d", "e"]);
  world.down.add("c");
  await expect(stranger.put("first")).rejects.toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: false });
  world.down.delete("c");

  await expect(stranger.put("first")).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: expect.stringMatching(/^c .*quorum of a, b, c, and this one is of c, d, e/),
  });
  await expect(stranger.get()).rejects.toMatchObject({ code: "CONFIGURATION" });
  expect(more.d.record(ELECTION)).toBeUndefined();
});

test.each([ROSTER, MARKER])("no election is called '%s'", async (name) => {
  const world = await World.founded();

  await expect(world.open("one").get(true, name)).rejects.toMatchObject({ code: "CONFIGURATION" });
});

test("a store that was emptied is taken in again, and then any other one may be down, for new processes too", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, ELECTION, 2);
  world.empty("c");
  await write(world, one, ELECTION, 4);
  for (const away of ["a", "b"] as const) {
    world.down.add(away);
    const other = world.open(`without ${away}`);
    expect(nonceOf(await other.get())).toBe("write 3");
    world.down.delete(away);
  }
  world.down.add("a");
  await write(world, world.open("last"), ELECTION, 1);
});

test("that a store taken in again has no record says nothing: others may have it", async () => {
  const world = await World.founded();
  const [one, other] = [world.open("one"), world.open("other")];
  // All but b know of the election.
  world.down.add("b");
  await one.put("first");
  world.down.delete("b");
  world.empty("c");
  await write(world, other, OTHER_ELECTION, 4);
  world.down.add("a");

  const third = world.open("third");
  await expect(third.get()).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  await expect(third.put("fork")).rejects.toMatchObject({ mayHaveBeenApplied: false });
  world.down.delete("a");
  expect(nonceOf(await third.get())).toBe("first");
});

test("nor does that of one which was emptied and nobody has noticed it", async () => {
  const world = await World.founded();
  const [one, other] = [world.open("one"), world.open("other")];
  await other.get();
  world.down.add("b");
  await one.put("first");
  world.down.delete("b");
  world.empty("c");
  world.down.add("a");

  await expect(other.put("fork")).rejects.toMatchObject({ mayHaveBeenApplied: false });
});

test("nor does a promise that arrives at a store after it was emptied, to who has known the store before", async () => {
  const world = await World.founded();
  const other = world.open("other");
  await other.get();
  await emptiedBeforeAPromise(world);
  await world.clock.advance(4_000);
  expect(world.services.c.record(ELECTION)).toMatchObject({ termId: null });
  world.down.add("a");

  await expect(other.put("fork")).rejects.toMatchObject({ mayHaveBeenApplied: false });
});

test("a look at a store's marker that began before it was emptied, and ends later than one that began since, says nothing", async () => {
  const world = await World.founded();
  const other = world.open("other");
  await other.get();
  // All but b know of the election.
  world.down.add("b");
  await world.open("one").put("first");
  world.down.delete("b");
  const signal = new AbortController().signal;
  let getsOfC = 0;
  // Its second request is for the roster, and its third one for the marker.
  world.passage = ({ to }) =>
    to === "c" && (getsOfC += 1) === 3 ? { arrivals: [{ afterMs: 1, replyAfterMs: 300 }] } : undefined;
  const slow = other.store.get("a third one", { consistent: true, signal, timeoutMs: 4_000 });
  await world.clock.advance(10);
  world.empty("c");
  world.passage = ({ to }) => (to === "b" ? { arrivals: [{ afterMs: 1, replyAfterMs: 400 }] } : undefined);
  world.down.add("a");
  const fork = other.startPut("fork", undefined, 4_000);

  await expect(world.clock.runUntil(fork)).rejects.toMatchObject({ mayHaveBeenApplied: false });
  await expect(slow).resolves.toBeUndefined();
});

test("nor does one at its roster", async () => {
  const world = await World.founded();
  const other = world.open("other");
  await write(world, other, ELECTION, 2);
  const signal = new AbortController().signal;
  let getsOfB = 0;
  world.passage = ({ by, to }) =>
    by === "other" && to === "b" && (getsOfB += 1) === 2 ? { arrivals: [{ afterMs: 1, replyAfterMs: 30_000 }] } : undefined;
  const slow = other.store.get("a third one", { consistent: true, signal, timeoutMs: 200_000 });
  await world.clock.advance(10);
  await write(world, world.open("renewed", { c: new SimulatedRecordService(world.clock) }), OTHER_ELECTION, 4);
  await other.get(true, "a fourth one");
  await world.clock.runUntil(slow);
  const version = (await other.get())?.version;
  world.requests();
  await other.put("next", version);
  await world.clock.advance(2_000);

  // It reads, prepares and writes, its lease being over. Were b's roster taken for the former one, it would be brought there, too.
  expect(world.requests().filter((request) => request.endsWith("b"))).toEqual(["other get b", "other put b", "other put b"]);
});

test("a late duplicate of what a store was given its marker by does not have it pass for untouched, once it was emptied", async () => {
  const world = new World();
  // Each write to c that the beginning takes comes again, in order, after a minute.
  world.passage = ({ to, operation }) =>
    to === "c" && operation === "put" ? { arrivals: [{ afterMs: 1, replyAfterMs: 1 }, { afterMs: 60_000 }] } : undefined;
  const [one, other] = [world.open("one"), world.open("other")];
  await one.put("any", undefined, OTHER_ELECTION);
  world.passage = () => undefined;
  await other.get();
  // All but b know of the election.
  world.down.add("b");
  await one.put("first");
  world.down.delete("b");
  world.empty("c");
  await world.clock.advance(61_000);
  world.down.add("a");

  await expect(other.put("fork")).rejects.toMatchObject({ mayHaveBeenApplied: false });
  world.down.delete("a");
  await write(world, one, OTHER_ELECTION, 3);
  await write(world, one, ELECTION, 3);
  world.down.add("a");
  expect(nonceOf(await world.open("third").get())).toBe("write 2");
});

test("a store is taken in whose marker was written by who has not come further", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, ELECTION, 2);
  const marker = world.services.c.record(MARKER) as LeaseRecord;
  const note = JSON.parse(marker.quorum ?? "") as Record<string, unknown>;
  world.empty("c");
  world.services.c.overwrite(MARKER, { ...marker, quorum: JSON.stringify({ ...note, write: "a new one" }) });
  await write(world, one, ELECTION, 4);
  world.down.add("a");

  expect(nonceOf(await world.open("other").get())).toBe("write 3");
});

test("what was written to a store before it was taken in again, and arrives after it, does not count", async () => {
  const world = await World.founded();
  const other = world.open("other");
  await emptiedBeforeAPromise(world);
  await write(world, other, OTHER_ELECTION, 4);
  expect(world.services.c.record(ELECTION)).toMatchObject({ termId: null });
  world.down.add("a");

  await expect(world.open("third").put("fork")).rejects.toMatchObject({ mayHaveBeenApplied: false });
});

test("where all stores have come in place of others, an election that none of them has begins", async () => {
  const world = await World.founded();
  const one = world.open("one");
  for (const name of ["a", "b", "c"] as const satisfies readonly Name[]) {
    await write(world, one, OTHER_ELECTION, 3);
    world.empty(name);
    await write(world, one, OTHER_ELECTION, 3);
    await world.clock.advance(10_000);
    await write(world, one, OTHER_ELECTION, 2);
  }

  expect(await one.put("first")).toMatchObject({ stored: true });
});

test("a store is taken in also where nothing can be written until it is", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, OTHER_ELECTION, 1);
  world.empty("b");
  await write(world, one, OTHER_ELECTION, 8);
  world.empty("c");

  // That b has no record of it says nothing: it takes all. Whoever would write looks first.
  await expect(one.get()).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  await world.clock.advance(2_000);
  expect(await one.put("first")).toMatchObject({ stored: true });
});

test("a member is replaced while processes run, and who still has the old store cannot make a majority with it", async () => {
  const world = await World.founded();
  const old = world.open("old");
  await write(world, old, ELECTION, 2);
  const fresh = { c: new SimulatedRecordService(world.clock) };
  const renewed = world.open("renewed", fresh);
  await write(world, renewed, ELECTION, 4);
  expect(nonceOf(await old.get())).toBe("write 3");
  await write(world, old, ELECTION, 1);

  world.passage = ({ by, to }) => (by === "old" && to === "b" ? { arrivals: [] } : undefined);
  await expect(old.get()).rejects.toMatchObject({
    code: "STORE_TIMEOUT",
    message: expect.stringMatching(
      / b: no answer in time\. c: it is the store .*: another one has taken its place\. Give this process/,
    ),
  });
  await expect(check(world, old)).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: expect.stringMatching(
      /^The quorum's member c .* is not counted: it is the store .*, and the quorum's is .*: another one has taken/,
    ),
  });
  world.passage = () => undefined;
  await expect(check(world, world.open("old again"))).rejects.toMatchObject({ code: "CONFIGURATION" });
  await expect(check(world, renewed)).resolves.toEqual({ stored: false });

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

test("who is given a store that was replaced says so once, with the very look that tells who the members are", async () => {
  const world = await World.founded();
  const renewed = world.open("renewed", { c: new SimulatedRecordService(world.clock) });
  await write(world, renewed, ELECTION, 4);
  const old = world.open("old");
  const told = [expect.stringMatching(/^The quorum's member c .* is not counted: .*another one has taken its place/)];

  await old.get();
  expect(world.warnings).toEqual(told);
  await old.get();
  expect(world.warnings).toEqual(told);
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
    expect(membership.whyAbsent("c")).toContain("another one has taken its place");
  }
});

test("a store that was replaced does not come back", async () => {
  const world = await World.founded();
  const old = world.open("old");
  await write(world, old, ELECTION, 2);
  const fresh = { c: new SimulatedRecordService(world.clock) };
  const renewed = world.open("renewed", fresh);
  await write(world, renewed, ELECTION, 4);
  const before = world.services.a.record(ROSTER);

  for (let times = 0; times < 3; times += 1) {
    await world.clock.advance(20_000);
    await write(world, old, ELECTION, 2);
  }
  expect((world.services.a.record(ROSTER) as { value: string }).value).toBe((before as { value: string }).value);
});

test("a store of another quorum is refused in a member's place", async () => {
  const world = await World.founded();
  const [c, d, e] = ["c", "d", "e"].map(() => new SimulatedRecordService(world.clock)) as [Store, Store, Store];
  await world.open("others", { c, d, e }, ["c", "d", "e"]).put("first");

  await expect(world.open("one", { c }).get()).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: expect.stringMatching(/^c .*quorum of c, d, e, and this one is of a, b, c/),
  });
});

test("members that take most of their time do not keep a process from learning who is one by now", async () => {
  const world = await World.founded();
  const old = world.open("old");
  await write(world, old, ELECTION, 2);
  const fresh = { c: new SimulatedRecordService(world.clock) };
  await write(world, world.open("renewed", fresh), ELECTION, 4);
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

test("a store that was emptied is taken in at the first attempt, though it takes longer to write than a call waits for it", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, ELECTION, 1);
  world.empty("c");
  world.passage = ({ to, operation }) =>
    to === "c" && operation === "put" ? { arrivals: [{ afterMs: 200, replyAfterMs: 200 }] } : undefined;
  await write(world, one, ELECTION, 1);
  await world.clock.advance(5_000);

  expect(world.services.c.record(ROSTER)).toBeDefined();
});

test("a check without a majority proves nothing, and says so", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await one.get();
  world.down.add("b").add("c");

  await expect(check(world, one)).rejects.toMatchObject({
    code: "STORE_TIMEOUT",
    mayHaveBeenApplied: false,
    message: expect.stringContaining("No majority of a, b, c answers."),
  });
});

/** The roster that b keeps. */
const rosterAtB = (world: World): unknown => (world.services.b.record(ROSTER) as { value: string }).value;

test("a process that gives one member's store as another's, too, does not have it take that one's place", async () => {
  const world = await World.founded();
  const roster = rosterAtB(world);
  const wrong = world.open("wrong", { c: world.services.a });
  await write(world, wrong, ELECTION, 4);

  expect(rosterAtB(world)).toBe(roster);
  await expect(check(world, wrong)).rejects.toThrow("Members a and c are the same store");
});

test("nor does one that exchanges two of five", async () => {
  const world = new World();
  const [d, e] = [new SimulatedRecordService(world.clock), new SimulatedRecordService(world.clock)];
  const names = ["a", "b", "c", "d", "e"];
  await world.open("founder", { d, e }, names).put("any", undefined, OTHER_ELECTION);
  const roster = rosterAtB(world);
  const wrong = world.open("wrong", { d, e, a: world.services.c, c: world.services.a }, names);
  await write(world, wrong, ELECTION, 4);

  expect(rosterAtB(world)).toBe(roster);
  await expect(check(world, wrong)).rejects.toThrow(
    "a (simulated) is not counted: it is the store that the quorum has as c: give every",
  );
});

test("of three that two are exchanged of, none is a majority, and it is said which", async () => {
  const world = await World.founded();
  const wrong = world.open("wrong", { a: world.services.c, c: world.services.a });

  const why =
    "a: it is the store that the quorum has as c: give every process the same stores by the same names. c: it is the store";
  await expect(wrong.put("first")).rejects.toMatchObject({ code: "STORE_REJECTED", message: expect.stringContaining(why) });
});

/** Another quorum, whose members have the same names. */
async function others(world: World): Promise<{ readonly stores: Readonly<Record<Name, Store>>; readonly theirs: Client }> {
  const [a, b, c] = ["a", "b", "c"].map(() => new SimulatedRecordService(world.clock)) as [Store, Store, Store];
  const theirs = world.open("theirs", { a, b, c });
  await write(world, theirs, OTHER_ELECTION, 2);
  return { stores: { a, b, c }, theirs };
}

test("a store of another quorum is not taken in, also where that one has the same names: both quorums go on", async () => {
  const world = await World.founded();
  const roster = rosterAtB(world);
  const { stores, theirs } = await others(world);
  const wrong = world.open("wrong", { c: stores.c });
  await write(world, wrong, ELECTION, 4);

  expect(rosterAtB(world)).toBe(roster);
  await expect(check(world, wrong)).rejects.toThrow("it is a store of another quorum, whose members have the same names");
  world.passage = ({ by, to }) => (by === "theirs" && to === "a" ? { arrivals: [] } : undefined);
  await write(world, theirs, OTHER_ELECTION, 2);
});

test("a process whose stores are of two quorums goes by neither where one has come further, and says so", async () => {
  const world = await World.founded();
  const { stores, theirs } = await others(world);
  const { a, b } = stores;
  const taken = { a, b, c: new SimulatedRecordService(world.clock) };
  await write(world, world.open("taking in", taken), OTHER_ELECTION, 4);
  await write(world, theirs, OTHER_ELECTION, 1);

  const why = "b: the stores are of two quorums, whose members have the same names: give this process those of one.";
  await expect(world.open("wrong", { a }).put("first")).rejects.toMatchObject({
    code: "STORE_REJECTED",
    message: expect.stringContaining(why),
  });
});

test("beside a store that has begun, empty ones begin nothing, and it is said of each", async () => {
  const world = await World.founded();
  const [a, b] = ["a", "b"].map(() => new SimulatedRecordService(world.clock)) as [Store, Store];

  const why = "a: it is empty, and c of a quorum that has begun: give this process the stores of that one, or empty ones alone.";
  const begun = world.open("one", { a, b });
  await expect(begun.put("first")).rejects.toMatchObject({ code: "STORE_REJECTED", message: expect.stringContaining(why) });
  // One that is silent may be another store by now.
  world.down.add("b");
  await expect(begun.put("first")).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
});

test("a member that has forgotten what it promised is said to, where no majority is without it", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, ELECTION, 2);
  const backup = world.backup("c");
  await write(world, one, ELECTION, 2);
  world.restore("c", backup);
  world.down.add("b");

  await expect(world.open("other").get()).rejects.toMatchObject({
    message: expect.stringContaining(
      "c: it has forgotten what it had promised, and counts again once the others have written it",
    ),
  });
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

test("of some rosters the newest is that of the highest number, wherever it stands", () => {
  const [one, two] = [1, 2].map((number) => ({ number, incarnations: {}, later: [], past: [] }));
  expect(newestOf([two!, one!])).toBe(two);
  expect(newestOf([one!, two!])).toBe(two);
  expect(newestOf([])).toBeUndefined();
});

test("rosters are of one quorum if any store is, or was, in both", () => {
  const rosterOf = (markers: readonly string[], past: readonly string[] = []): Roster => ({
    number: 1,
    incarnations: Object.fromEntries(markers.map((marker, at) => [`m${at}`, marker])),
    later: [],
    past,
  });
  const one = rosterOf(["a", "b", "c"], ["before"]);
  expect(areRelated(one, rosterOf(["a", "y", "z"]))).toBe(true);
  expect(areRelated(one, rosterOf(["x", "y", "before"]))).toBe(true);
  expect(areRelated(one, rosterOf(["x", "y", "z"], ["w", "c"]))).toBe(true);
  expect(areRelated(one, rosterOf(["x", "y", "z"], ["w"]))).toBe(false);
});

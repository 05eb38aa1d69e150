/** Tests schedules in which a quorum of records once failed, or would fail without one of its rules. */
import { StoreError } from "@leasehold/core";
import {
  Journal,
  MemoryRecordStore,
  RecordLeaseStore,
  type LeaseRecord,
  type PutOptions,
  type PutOutcome,
  type RecordStore,
  type StoredRecord,
} from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import type { Ballot } from "../src/ballot.ts";
import { QuorumRecordStore } from "../src/quorum-record-store.ts";
import {
  begun,
  ELECTION,
  LEASE_MS,
  nonceOf,
  OTHER_ELECTION,
  recordOf,
  versionOf,
  World,
  type Client,
  type Sent,
} from "./world.ts";

const TIMES = { leaseDurationMs: LEASE_MS, renewIntervalMs: 5_000, timeoutMs: 1_000 };
const isWrite = ({ operation }: Sent): boolean => operation === "put";
const signal = new AbortController().signal;

/** A record store whose versions count the writes of a record, so that versions repeat after a restore. */
class CountedRecords implements RecordStore {
  readonly name: string = "counted";
  readonly capabilities = { maxValueBytes: 65_536, fence: "none", storeClock: undefined } as const;
  readonly entries = new Map<string, StoredRecord>();
  isDown = false;

  get(election: string): Promise<StoredRecord | undefined> {
    return this.isDown ? this.#down() : Promise.resolve(this.entries.get(election));
  }

  put(election: string, data: LeaseRecord, { ifVersion }: { readonly ifVersion: string | undefined }): Promise<PutOutcome> {
    if (this.isDown) return this.#down();
    const present = this.entries.get(election);
    if (present?.version !== ifVersion) return Promise.resolve({ stored: false });
    const version = `${Number(present?.version ?? 0) + 1}`;
    this.entries.set(election, { data, version });
    return Promise.resolve({ stored: true, version });
  }

  #down(): Promise<never> {
    const details = { store: this.name, operation: "any", mayHaveBeenApplied: false };
    return Promise.reject(new StoreError("STORE_UNAVAILABLE", "down", details));
  }
}

test("a version that repeats after a restore does not admit a write that forks the record", async () => {
  const clock = new VirtualClock();
  const [a, b, c] = [new CountedRecords(), new CountedRecords(), new CountedRecords()];
  const open = (): QuorumRecordStore => new QuorumRecordStore({ a, b, c }, clock);
  const put = (store: QuorumRecordStore, nonce: string, ifVersion?: string): Promise<PutOutcome> =>
    clock.runUntil(store.put(ELECTION, recordOf(nonce), { ifVersion, keepsNonce: false, signal, timeoutMs: 1_000 }));
  const [one, other] = [open(), open()];
  const first = versionOf(await put(one, "first"));
  const backup = c.entries.get(ELECTION) as StoredRecord;
  const second = versionOf(await put(one, "second", first));
  const reused = c.entries.get(ELECTION)?.version;
  // c forgets the last write. Another process's promise then gets the version that the lost write had.
  c.entries.set(ELECTION, backup);
  b.isDown = true;
  await put(other, "lost", second).catch(() => undefined);
  b.isDown = false;
  const stored: string[] = [];
  for (const [store, nonce] of [
    [one, "third"],
    [other, "another third"],
  ] as const) {
    const outcome = await put(store, nonce, second).catch(() => undefined);
    if (outcome?.stored) stored.push(nonce);
  }

  expect(Number(c.entries.get(ELECTION)?.version)).toBeGreaterThanOrEqual(Number(reused));
  expect(stored.length).toBeLessThanOrEqual(1);
  const found = await clock.runUntil(open().get(ELECTION, { consistent: true, signal, timeoutMs: 1_000 }));
  expect([...stored, "lost"]).toContain(nonceOf(found));
});

test("a repair by another process keeps the version, so the writer can continue from it", async () => {
  const { world, one, other, first } = await begun();
  world.passage = (request) =>
    isWrite(request) && request.by === "one" && request.to !== "a" ? { arrivals: [{ afterMs: 400 }] } : undefined;
  const second = one.startPut("second", first);
  await world.clock.advance(20);
  world.passage = () => undefined;
  // The write is completed under a ballot of the other process.
  const found = await other.get();
  expect(nonceOf(found)).toBe("second");

  expect(versionOf(await world.clock.runUntil(second))).toBe(found?.version);
  expect(await one.put("third", found?.version)).toMatchObject({ stored: true });
});

test("after its own repair a process prepares again before it writes", async () => {
  const { world, one, other, first } = await begun();
  await world.clock.advance(2_000);
  world.passage = (request) => (isWrite(request) && request.by === "one" && request.to !== "a" ? { arrivals: [] } : undefined);
  await one.put("second", first).catch(() => undefined);
  world.passage = () => undefined;
  const completed = await other.get();
  world.requests();
  await other.put("third", completed?.version);

  expect(world.requests().slice(0, 3)).toEqual(["other get a", "other get b", "other get c"]);
});

test("a member that was read before its higher promise was known is read again, and does not count as forgetful", async () => {
  const { world, one, other, first } = await begun();
  let version = first;
  await world.clock.advance(2_000);
  await other.get();
  world.down.add("c");
  // b answers some time after a.
  world.passage = ({ by, to }) => (by === "other" && to === "b" ? { arrivals: [{ afterMs: 100, replyAfterMs: 1 }] } : undefined);
  const look = other.startGet(false);
  await world.clock.advance(10);
  for (const nonce of ["second", "third"]) version = versionOf(await one.put(nonce, version));

  expect((await world.clock.runUntil(look))?.version).toBe(version);
});

test("a former leader does not lead again by its last write, if one member has missed the next write and another has forgotten it", async () => {
  const { world, one, other, first } = await begun();
  await world.clock.advance(2_000);
  const backup = world.services.b.backUp(ELECTION);
  world.down.add("c");
  other.term = 2;
  versionOf(await other.put("second", first));
  world.down.delete("c");
  world.services.b.restore(ELECTION, backup);
  one.term = 2;
  // The member that knows of the later write answers last.
  world.passage = ({ to }) => (to === "a" ? { arrivals: [{ afterMs: 20, replyAfterMs: 20 }] } : undefined);

  expect(await one.put("fork", first)).toMatchObject({ stored: false });
  expect(nonceOf(await one.get())).toBe("second");
});

/**
 * Leaves a leader, and an order to it that a and b have accepted and c has missed. Since then b has forgotten it, and keeps the
 * leader's write again.
 */
async function orderForgotten(
  lostOfFirst?: string,
  opened = ["leader", "administrator"],
): Promise<{ world: World; leader: Client; first: string }> {
  const world = await World.founded();
  const clients = new Map(opened.map((by) => [by, world.open(by)]));
  const [leader, administrator] = [clients.get("leader") as Client, clients.get("administrator") as Client];
  // Only the reply to the accept is lost, because a member that has not promised is not asked to accept.
  let writes = 0;
  world.passage = ({ to, operation }) =>
    to === lostOfFirst && operation === "put" && (writes += 1) > 1 ? { arrivals: [{ afterMs: 1 }] } : undefined;
  const first = versionOf(await leader.put("first"));
  await world.clock.advance(2_000);
  world.passage = () => undefined;
  const backup = world.services.b.backUp(ELECTION);
  world.down.add("c");
  await administrator.put("order", first);
  world.down.delete("c");
  world.services.b.restore(ELECTION, backup);
  return { world, leader, first };
}

test("the leader's next write, which the third member refuses, finds an order that one member has missed and another forgotten", async () => {
  const { leader, first } = await orderForgotten();

  expect(await leader.put("renewal", first)).toMatchObject({ stored: false, current: { data: { nonce: "order" } } });
  expect(nonceOf(await leader.get())).toBe("order");
});

// In the same round the proposer with the higher id goes above the other one. So each order of opening makes one of them win.
test.each([
  ["refuses it too late", undefined, ["leader", "administrator"]],
  ["refuses it too late", undefined, ["administrator", "leader"]],
  ["is read too late", "a", ["leader", "administrator"]],
  ["is read too late", "a", ["administrator", "leader"]],
])("such an order is found by the write after that one where the third member %s", async (_, lostOfFirst, opened) => {
  const { world, leader, first } = await orderForgotten(lostOfFirst, opened);
  world.passage = ({ to }) => (to === "a" ? { arrivals: [{ afterMs: 50, replyAfterMs: 50 }] } : undefined);
  const renewal = versionOf(await leader.put("renewal", first));
  await world.clock.advance(2_000);

  expect(await leader.put("next", renewal)).toMatchObject({ stored: false });
  expect(nonceOf(await leader.get())).toBe("order");
});

test("a member that has forgotten is not written again while another is silent, although the leader writes", async () => {
  const { world, one, first } = await begun();
  let version = first;
  await world.clock.advance(2_000);
  version = versionOf(await one.put("second", version));
  await world.clock.advance(2_000);
  // c misses a write first. So it is read before it is written, and refuses nothing.
  world.down.add("c");
  version = versionOf(await one.put("third", version));
  await world.clock.advance(2_000);
  world.down.delete("c");
  world.restore("c", undefined);
  world.down.add("b");

  await expect(one.put("fourth", version)).rejects.toMatchObject({ mayHaveBeenApplied: true });
  await world.clock.advance(60_000);
  expect(world.services.c.record(ELECTION)).toBeUndefined();
  await expect(one.put("fourth", version)).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
});

test("the leader's renewals take back a member that has forgotten a promise far above the leader's ballot", async () => {
  const world = await World.founded();
  const [one, far] = [world.open("one"), world.open("far")];
  for (let count = 0; count < 20; count += 1) await far.put("any", undefined, `election ${count}`);
  let version = versionOf(await one.put("first"));
  await world.clock.advance(2_000);
  const backup = world.backup("c");
  // c misses a write first. So it is read before it is written, and refuses nothing.
  world.down.add("c");
  version = versionOf(await one.put("missed", version));
  await world.clock.advance(2_000);
  world.down.delete("c");
  world.passage = ({ by, to, operation }) => (by === "far" && operation === "put" && to !== "c" ? { arrivals: [] } : undefined);
  await far.put("never", version).catch(() => undefined);
  world.passage = () => undefined;
  for (let renewals = 0; renewals < 6; renewals += 1) {
    // The leader has met this promise once before.
    if (renewals === 1) world.restore("c", backup);
    version = versionOf(await one.put(`renewal ${renewals}`, version));
    await world.clock.advance(2_000);
  }
  world.down.add("b");

  expect(nonceOf(await world.open("other").get())).toBe("renewal 5");
});

test("a read does not return what a majority shows if another member shows a higher ballot", async () => {
  const { world, one, other, first } = await begun();
  await world.clock.advance(2_000);
  // The second write is only at a. b and c, a majority, still show the first.
  world.passage = (request) => (isWrite(request) && request.by === "one" && request.to !== "a" ? { arrivals: [] } : undefined);
  await one.put("second", first).catch(() => undefined);
  world.passage = () => undefined;

  expect(nonceOf(await other.get())).toBe("second");
});

test("a process that has seen a write chosen does not read the replaced one later, whichever member is silent", async () => {
  const { world, one, other, first } = await begun();
  await world.clock.advance(2_000);
  world.passage = ({ to, operation }) => (to === "c" && operation === "put" ? { arrivals: [] } : undefined);
  await one.put("second", first);
  expect(nonceOf(await other.get())).toBe("second");
  // One member is down, and the others refuse writes.
  const error = new StoreError("STORE_UNAVAILABLE", "full", { store: "any", operation: "put", mayHaveBeenApplied: false });
  world.passage = ({ operation }) => (operation === "put" ? { arrivals: [], breaks: { afterMs: 1, error } } : undefined);
  world.down.add("a");

  for (const by of [one, other]) for (const consistent of [true, false]) expect(nonceOf(await by.get(consistent))).toBe("second");
});

test("a member whose reply to an accept was lost is read before it is written again", async () => {
  const { world, one, first } = await begun();
  await world.clock.advance(2_000);
  world.passage = (request) => (isWrite(request) && request.to === "c" ? { arrivals: [{ afterMs: 1 }] } : undefined);
  const second = versionOf(await one.put("second", first));
  await world.clock.advance(2_000);
  world.passage = () => undefined;
  world.requests();
  await one.put("third", second);
  await world.clock.advance(2_000);

  expect(world.requests().filter((request) => request.endsWith("c"))).toEqual(["one get c", "one put c"]);
});

/** Returns a process's client, and a lease store on its records. */
function leasesOf(world: World, by: string): { client: Client; leases: RecordLeaseStore } {
  const client = world.open(by);
  return { client, leases: new RecordLeaseStore(client.store, { clock: client.clock }) };
}

test("a lease that has run out is taken over while one member hangs, within one attempt", async () => {
  const world = await World.founded();
  const [holder, rival] = [leasesOf(world, "holder").leases, leasesOf(world, "rival").leases];
  await world.clock.runUntil(holder.acquire({ election: ELECTION, candidateId: "holder", ...TIMES }));
  await world.clock.runUntil(rival.read(ELECTION, { timeoutMs: 1_000 }));
  await world.clock.advance(15_001);
  world.passage = ({ to }) => (to === "c" ? { arrivals: [{ afterMs: 1, replyAfterMs: 60_000 }] } : undefined);
  const begunMs = world.clock.monotonicMs();

  const won = await world.clock.runUntil(rival.acquire({ election: ELECTION, candidateId: "rival", ...TIMES }));
  expect(won).toMatchObject({ acquired: true, lease: { term: 2 } });
  expect(world.clock.monotonicMs() - begunMs).toBeLessThan(1_000);
});

test("with one member down, polls of ten standbys at the instant of each renewal do not disturb the leader", async () => {
  const world = await World.founded();
  const { leases } = leasesOf(world, "leader");
  const standbys = Array.from({ length: 10 }, (_, index) => leasesOf(world, `standby ${index}`).leases);
  const won = await world.clock.runUntil(leases.acquire({ election: ELECTION, candidateId: "leader", ...TIMES }));
  if (!won.acquired) return expect.fail("Nobody else competes.");
  await world.clock.runUntil(Promise.all(standbys.map((standby) => standby.read(ELECTION, { timeoutMs: 1_000 }))));
  world.down.add("c");
  await world.clock.runUntil(leases.renew(won.lease, { timeoutMs: 1_000 }));

  for (let round = 0; round < 20; round += 1) {
    await world.clock.advance(5_000);
    world.requests();
    const looks = standbys.map((standby) => standby.read(ELECTION, { timeoutMs: 1_000 }));
    const renewal = leases.renew(won.lease, { timeoutMs: 1_000 });
    // Some standbys poll again during the renewal.
    await world.clock.advance(1);
    looks.push(...standbys.map((standby) => standby.read(ELECTION, { timeoutMs: 1_000 })));
    expect(await world.clock.runUntil(renewal)).toMatchObject({ held: true });
    const seen = await world.clock.runUntil(Promise.all(looks));
    expect(seen.every((look) => look?.holder === "leader")).toBe(true);
    const requests = world.requests();
    expect(requests.filter((request) => request.includes("standby") && request.includes("put"))).toEqual([]);
    expect(requests.filter((request) => request.startsWith("leader") && !request.endsWith("c"))).toEqual([
      "leader put a",
      "leader put b",
    ]);
  }
});

test("a store that uses a member by itself is refused, and writes nothing", async () => {
  const world = await World.founded();
  const { client } = leasesOf(world, "one");
  await client.put("first");
  const before = world.services.a.record(ELECTION);
  const plain = new RecordLeaseStore(world.services.a.connect(client.clock), { clock: client.clock });

  const attempt = world.clock.runUntil(plain.acquire({ election: ELECTION, candidateId: "plain", ...TIMES }));
  await expect(attempt).rejects.toMatchObject({ code: "FOREIGN_RECORD", message: expect.stringContaining("QuorumLeaseStore") });
  await expect(world.clock.runUntil(plain.read(ELECTION))).rejects.toMatchObject({ code: "FOREIGN_RECORD" });
  expect(world.services.a.record(ELECTION)).toEqual(before);
});

test("a quorum of five works with two members down, or with one down and one emptied", async () => {
  const clock = new VirtualClock();
  const members = {
    a: new CountedRecords(),
    b: new CountedRecords(),
    c: new CountedRecords(),
    d: new CountedRecords(),
    e: new CountedRecords(),
  };
  const open = (): QuorumRecordStore => new QuorumRecordStore(members, clock);
  let version: string | undefined;
  let writes = 0;
  const write = async (store: QuorumRecordStore): Promise<void> => {
    const options = { ifVersion: version, keepsNonce: false, signal, timeoutMs: 1_000 };
    version = versionOf(await clock.runUntil(store.put(ELECTION, recordOf(`write ${(writes += 1)}`), options)));
    await clock.advance(11_000);
  };
  const found = async (): Promise<string | undefined> =>
    nonceOf(await clock.runUntil(open().get(ELECTION, { consistent: true, signal, timeoutMs: 1_000 })));
  const one = open();
  await write(one);
  for (const member of [members.a, members.b]) member.isDown = true;
  await write(one);
  await write(open());
  members.c.isDown = true;
  await expect(write(one)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });

  for (const member of Object.values(members)) member.isDown = false;
  for (let count = 0; count < 3; count += 1) await write(open());
  members.a.isDown = true;
  members.b.entries.clear();
  const two = open();
  for (let count = 0; count < 5; count += 1) await write(two);
  expect(await found()).toBe(`write ${writes}`);
  // b counts for a majority again.
  members.c.isDown = true;
  expect(await found()).toBe(`write ${writes}`);
});

test("a prepare goes above every ballot that this process has sent, whether it arrived or not, also for other elections", async () => {
  const clock = new VirtualClock();
  const sent: Array<{ readonly round: number; readonly isPrepare: boolean }> = [];
  /** The writes that are lost. */
  let lost: "nothing" | "accepts" | "all" = "nothing";
  class Watched extends MemoryRecordStore {
    override put(election: string, record: LeaseRecord, options: PutOptions): ReturnType<MemoryRecordStore["put"]> {
      if (election !== ELECTION && election !== OTHER_ELECTION) return super.put(election, record, options);
      const { promised, accepted } = JSON.parse(record.quorum ?? "") as {
        readonly promised: Ballot;
        readonly accepted: Ballot | null;
      };
      // An accept promises the next ballot as well.
      const isPrepare = accepted?.round !== promised.round - 1;
      sent.push({ round: promised.round, isPrepare });
      if (lost === "nothing" || (lost === "accepts" && isPrepare)) return super.put(election, record, options);
      const details = { store: "memory", operation: "put", mayHaveBeenApplied: true };
      return Promise.reject(new StoreError("STORE_UNAVAILABLE", "gone", details));
    }
  }
  const members = { a: new Watched(clock), b: new Watched(clock), c: new Watched(clock) };
  const store = new QuorumRecordStore(members, clock, Journal.to(false));
  const put = (nonce: string, election: string, ifVersion?: string): Promise<PutOutcome> =>
    clock.runUntil(store.put(election, recordOf(nonce), { ifVersion, keepsNonce: false, signal, timeoutMs: 1_000 }));
  const first = versionOf(await put("first", ELECTION));
  for (lost of ["accepts", "all"] as const) {
    await put("second", ELECTION, first).catch(() => undefined);
    await put("third", ELECTION, first).catch(() => undefined);
    await put("fourth", OTHER_ELECTION).catch(() => undefined);
  }
  lost = "nothing";
  await put("fifth", ELECTION, first);

  let highest = 0;
  const prepares: number[] = [];
  for (const { round, isPrepare } of sent) {
    if (isPrepare && round !== prepares.at(-1)) {
      expect(round).toBeGreaterThan(highest);
      prepares.push(round);
    }
    highest = Math.max(highest, round);
  }
  // Each prepare is sent once to each member.
  for (const one of prepares) expect(sent.filter(({ round, isPrepare }) => isPrepare && round === one).length).toBeLessThan(4);
  expect(prepares.length).toBeGreaterThan(8);
});

test("a member that shows less than it has promised is read again consistently, also by a poll", async () => {
  const clock = new VirtualClock();
  const asked: boolean[] = [];
  /** The records that c shows in place of those that it keeps. */
  const shown = new Map<string, StoredRecord>();
  const [a, b, c] = [new CountedRecords(), new CountedRecords(), new CountedRecords()];
  const watched: RecordStore = {
    name: c.name,
    capabilities: c.capabilities,
    get: async (election, { consistent }) => {
      if (election === ELECTION) asked.push(consistent);
      return shown.get(election) ?? (await c.get(election));
    },
    put: (election, record, options) => c.put(election, record, { ifVersion: options.ifVersion }),
  };
  const store = new QuorumRecordStore({ a, b, c: watched }, clock, Journal.to(false));
  const put = (nonce: string, ifVersion?: string): Promise<PutOutcome> =>
    clock.runUntil(store.put(ELECTION, recordOf(nonce), { ifVersion, keepsNonce: false, signal, timeoutMs: 1_000 }));
  const first = versionOf(await put("first"));
  shown.set(ELECTION, c.entries.get(ELECTION) as StoredRecord);
  await put("second", first);
  b.isDown = true;
  asked.length = 0;

  const look = store.get(ELECTION, { consistent: false, signal, timeoutMs: 1_000 });
  await expect(clock.runUntil(look)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(asked).toEqual([false, true]);
});

/** Tests the rules of the replicated record, each by the schedule that would break it. */
import { MemoryRecordStore, type GetOptions, type LeaseRecord, type StoredRecord } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { QuorumRecordStore } from "../src/quorum-record-store.ts";
import { begun, ELECTION, nonceOf, recordOf, versionOf, World, type Client, type Name, type Sent } from "./world.ts";

const isWrite = ({ operation }: Sent): boolean => operation === "put";

test("a put after the same process's put is one write for each member, and ends with the second fastest", async () => {
  const { world, one, first } = await begun();
  await world.clock.advance(2_000);
  world.requests();
  world.down.add("c");

  const begunMs = world.clock.monotonicMs();
  expect(await one.put("second", first)).toMatchObject({ stored: true });

  expect(world.requests()).toEqual(["one put a", "one put b", "one put c"]);
  expect(world.clock.monotonicMs() - begunMs).toBeLessThan(5);
});

test("with members at 10, 40 and 160 ms a poll and a renewal take 40, and an acquisition two rounds of all and one of the second", async () => {
  const { world, other, first: version } = await begun();
  await other.get();
  const halfMs = { a: 5, b: 20, c: 80 };
  world.passage = ({ to }) => ({ arrivals: [{ afterMs: halfMs[to as Name], replyAfterMs: halfMs[to as Name] }] });
  const taking = async (call: Promise<unknown>): Promise<number> => {
    const begunMs = world.clock.monotonicMs();
    await world.clock.runUntil(call);
    const tookMs = world.clock.monotonicMs() - begunMs;
    await world.clock.advance(1_000);
    return Math.round(tookMs);
  };

  expect(await taking(other.startGet(false))).toBe(40);
  world.requests();
  let last = version;
  const putting = async (by: Client, nonce: string): Promise<void> => {
    last = versionOf(await by.startPut(nonce, last));
  };
  expect(await taking(putting(other, "acquired"))).toBe(160 + 160 + 40);
  expect(world.requests()).toHaveLength(9);
  expect(await taking(putting(other, "renewed"))).toBe(40);
  expect(world.requests()).toHaveLength(3);
});

test("the rounds of one process run one after another: the second of two simultaneous writes finds the first", async () => {
  const { world, one, first } = await begun();
  await world.clock.advance(2_000);
  world.requests();

  const outcomes = await world.clock.runUntil(Promise.all([one.startPut("mine", first), one.startPut("mine, too", first)]));

  expect(outcomes).toMatchObject([{ stored: true }, { stored: false, current: { data: { nonce: "mine" } } }]);
  const all = (operation: string) => ["a", "b", "c"].map((name) => `one ${operation} ${name}`);
  expect(world.requests()).toEqual([...all("put"), ...all("get")]);
});

test("two writes of one process do not prepare at once, which would force each above the other", async () => {
  const { world, other, first } = await begun();
  await other.get();
  world.requests();

  const outcomes = await world.clock.runUntil(Promise.all([other.startPut("mine", first), other.startPut("mine, too", first)]));

  expect(outcomes).toMatchObject([{ stored: true }, { stored: false, current: { data: { nonce: "mine" } } }]);
  const all = (operation: string) => ["a", "b", "c"].map((name) => `other ${operation} ${name}`);
  expect(world.requests()).toEqual([...all("get"), ...all("put"), ...all("put"), ...all("get")]);
});

test("later writes catch a member up that was down, and it then counts for a majority", async () => {
  const world = await World.founded();
  const one = world.open("one");
  world.down.add("c");
  let version = versionOf(await one.put("first"));
  world.down.delete("c");
  await world.clock.advance(2_000);
  version = versionOf(await one.put("second", version));
  await world.clock.advance(2_000);
  world.down.add("a");

  expect(nonceOf(await world.open("other").get())).toBe("second");
  expect(await one.put("third", version)).toMatchObject({ stored: true });
});

test("after a member was caught up the next write still needs no prepare", async () => {
  const { world, one, first } = await begun();
  let version = first;
  await world.clock.advance(2_000);
  world.down.add("c");
  version = versionOf(await one.put("second", version));
  await world.clock.advance(2_000);
  world.down.delete("c");
  const requests: string[][] = [];
  for (const nonce of ["third", "fourth"]) {
    await world.clock.advance(2_000);
    world.requests();
    version = versionOf(await one.put(nonce, version));
    await world.clock.advance(2_000);
    requests.push(world.requests());
  }

  const puts = ["a", "b", "c"].map((name) => `one put ${name}`);
  expect(requests[0]).toEqual(expect.arrayContaining(["one get c", ...puts]));
  expect(requests[1]).toEqual(puts);
});

test("a member is read consistently before it is caught up", async () => {
  const clock = new VirtualClock();
  const reads: boolean[] = [];
  let isDown = false;
  class Away extends MemoryRecordStore {
    override async get(election: string, options?: GetOptions): Promise<StoredRecord | undefined> {
      if (election === ELECTION) reads.push(options?.consistent === true);
      return await super.get(election);
    }
    override async put(...of: Parameters<MemoryRecordStore["put"]>): ReturnType<MemoryRecordStore["put"]> {
      if (isDown) throw new Error("It is down.");
      return await super.put(...of);
    }
  }
  const members = { a: new MemoryRecordStore(clock), b: new MemoryRecordStore(clock), c: new Away(clock) };
  const store = new QuorumRecordStore(members, clock);
  const signal = new AbortController().signal;
  let version: string | undefined;
  for (const nonce of ["first", "second", "third"]) {
    isDown = nonce === "second";
    reads.length = 0;
    const putting = store.put(ELECTION, recordOf(nonce), { ifVersion: version, keepsNonce: false, signal });
    version = versionOf(await clock.runUntil(putting));
    await clock.advance(2_000);
  }
  expect(reads).toEqual([true]);
});

test("with two of three down reads and writes fail, and the error says whether a write may have arrived", async () => {
  const { world, one, first: version } = await begun();
  world.down.add("b").add("c");

  await expect(one.get()).rejects.toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: false });
  const details = { store: "quorum", operation: "round", election: ELECTION };
  await expect(one.put("second", version)).rejects.toMatchObject({ ...details, mayHaveBeenApplied: true });
  world.down.clear();
  expect(["first", "second"]).toContain(nonceOf(await world.open("other").get()));
});

test("a write that one member refuses, and two have lost on the way, may have been applied", async () => {
  const { world, one, other, first } = await begun();
  await other.get();
  await world.clock.advance(2_000);
  world.passage = (request) => (isWrite(request) && request.to !== "a" ? { arrivals: [] } : undefined);
  await other.put("second", first).catch(() => undefined);
  const error = new Error("The connection was reset.");
  world.passage = ({ to }) => (to === "a" ? undefined : { arrivals: [], breaks: { afterMs: 1, error } });
  world.requests();

  await expect(one.put("third", first)).rejects.toMatchObject({ mayHaveBeenApplied: true });
  expect(world.requests().slice(0, 3)).toEqual(["one put a", "one put b", "one put c"]);
});

test("a poll writes nothing: if the members are split it returns the replaced record", async () => {
  const { world, one, other, first } = await begun();
  await world.clock.advance(2_000);
  world.passage = (request) => (isWrite(request) && request.to !== "a" ? { arrivals: [] } : undefined);
  await expect(one.put("second", first)).rejects.toMatchObject({ mayHaveBeenApplied: true });
  world.passage = () => undefined;
  world.requests();

  expect(nonceOf(await other.get(false))).toBe("first");
  expect(world.requests().filter((request) => request.includes("put"))).toEqual([]);
  // A consistent read completes a split that still exists after a pause.
  expect(nonceOf(await other.get())).toBe("second");
  expect(nonceOf(await world.open("third").get(false))).toBe("second");
});

test("a put that completes another process's write returns it at once, without another read", async () => {
  const { world, one, other, first } = await begun();
  await other.get();
  await world.clock.advance(2_000);
  world.passage = (request) => (isWrite(request) && request.to !== "a" ? { arrivals: [] } : undefined);
  await expect(one.put("second", first)).rejects.toMatchObject({ mayHaveBeenApplied: true });
  world.passage = () => undefined;
  world.requests();

  expect(await other.put("mine", first)).toMatchObject({ stored: false, current: { data: { nonce: "second" } } });
  const all = (operation: string) => ["a", "b", "c"].map((name) => `other ${operation} ${name}`);
  expect(world.requests().slice(-9)).toEqual([...all("get"), ...all("put"), ...all("put")]);
});

test("a split is not completed without a majority: nothing is written, and the error names the silent members", async () => {
  const { world, one, other, first } = await begun();
  await other.get();
  await world.clock.advance(2_000);
  world.passage = (request) => (isWrite(request) && request.to !== "a" ? { arrivals: [] } : undefined);
  await expect(one.put("second", first)).rejects.toMatchObject({ mayHaveBeenApplied: true });
  world.requests();
  let reads = 0;
  // It finds the split twice, a pause apart; after that b and c are silent.
  world.passage = ({ to }) => (to !== "a" && (reads += 1) > 4 ? { arrivals: [] } : undefined);

  await expect(other.get()).rejects.toMatchObject({
    message: expect.stringMatching(/^No majority of a, b, c answers\./),
    mayHaveBeenApplied: false,
  });
  expect(world.requests().filter((request) => request.includes("put"))).toEqual([]);
});

test("a process that may only read gets an answer in a split, too", async () => {
  const { world, one, other: observer, first } = await begun("observer");
  await world.clock.advance(2_000);
  world.passage = (request) => (isWrite(request) && request.to !== "a" ? { arrivals: [] } : undefined);
  await expect(one.put("second", first)).rejects.toMatchObject({ mayHaveBeenApplied: true });
  const error = Object.assign(new Error("denied"), { code: "ACCESS" });
  world.passage = (request) =>
    isWrite(request) && request.by === "observer" ? { arrivals: [], breaks: { afterMs: 1, error } } : undefined;

  expect(nonceOf(await observer.get())).toBe("first");
});

test("a promise to a process that died does not block other writers", async () => {
  const { world, one, other: dying, first } = await begun("dying");
  let version = first;
  let prepares = 0;
  world.passage = (request) => (request.by === "dying" && isWrite(request) && (prepares += 1) > 3 ? { arrivals: [] } : undefined);
  await dying.put("never", version).catch(() => undefined);
  for (const nonce of ["second", "third", "fourth"]) version = versionOf(await one.put(nonce, version));

  expect(nonceOf(await world.open("other").get())).toBe("fourth");
});

test("a rival that every member has promised, and whose accepts are late, does not fork the record", async () => {
  const { world, one, other: rival, first } = await begun("rival");
  await world.clock.advance(2_000);
  let writes = 0;
  world.passage = (request) =>
    request.by === "rival" && isWrite(request) && (writes += 1) > 3
      ? { arrivals: [{ afterMs: 400, replyAfterMs: 1 }] }
      : undefined;
  const later = new Promise<void>((resolve) => world.clock.setTimer(resolve, 20));
  const outcomes = await world.clock.runUntil(
    Promise.allSettled([rival.startPut("yours", first), later.then(() => one.startPut("mine", first))]),
  );
  await world.clock.advance(2_000);

  const stored = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" && outcome.value.stored ? [outcome.value] : []));
  const found = await world.open("third").get();
  expect(stored.map(({ version }) => version)).toEqual([found?.version]);
});

test("a write whose reply was lost is found and reported as stored", async () => {
  const { world, one, first } = await begun();
  await world.clock.advance(2_000);
  world.passage = (request) => (isWrite(request) ? { arrivals: [{ afterMs: 1 }] } : undefined);
  const lost = one.startPut("second", first);
  await world.clock.advance(300);
  world.passage = () => undefined;

  expect(await world.clock.runUntil(lost)).toMatchObject({ stored: true });
  expect(nonceOf(await world.open("other").get())).toBe("second");
});

test.each(["wiped", "rolled back"])("a member that is %s is taken back once both others have written", async (how) => {
  const { world, one, first } = await begun();
  let version = first;
  await world.clock.advance(2_000);
  const backup = how === "wiped" ? undefined : world.backup("c");
  for (const nonce of ["second", "third"]) {
    version = versionOf(await one.put(nonce, version));
    await world.clock.advance(2_000);
  }
  world.restore("c", backup);
  // The first write detects that c has forgotten; the second one takes c back.
  for (const nonce of ["fourth", "fifth"]) {
    version = versionOf(await one.put(nonce, version));
    await world.clock.advance(2_000);
  }
  world.down.add("a");

  const other = world.open("other");
  expect(nonceOf(await other.get())).toBe("fifth");
  expect(await other.put("sixth", version)).toMatchObject({ stored: true });
});

test("a member that has forgotten is not taken back while another is silent, and writes fail if that is known", async () => {
  const { world, one, first } = await begun();
  let version = first;
  for (const nonce of ["second", "third"]) {
    version = versionOf(await one.put(nonce, version));
    await world.clock.advance(2_000);
  }
  world.restore("c", undefined);
  world.down.add("b");
  const other = world.open("other");

  await expect(other.get()).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  await expect(other.put("fourth", version)).rejects.toMatchObject({ mayHaveBeenApplied: false });
  await expect(one.put("fourth", version)).rejects.toMatchObject({ mayHaveBeenApplied: true });
  world.down.delete("b");
  expect(["third", "fourth"]).toContain(nonceOf(await other.get()));
});

test("a write that one member has lost is found at the others, although no process knows of the loss", async () => {
  const { world, one, first } = await begun();
  let version = first;
  await world.clock.advance(2_000);
  const backup = world.backup("c");
  world.down.add("a");
  version = versionOf(await one.put("second", version));
  await world.clock.advance(2_000);
  world.down.delete("a");
  world.restore("c", backup);

  expect(nonceOf(await world.open("other").get())).toBe("second");
  expect(await world.open("third").put("third", version)).toMatchObject({ stored: true });
});

test("a member of another list is refused by name; a member that a store uses by itself is never written", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await one.put("first");
  const note = {
    roster: 1,
    members: { a: "", b: "", z: "" },
    promised: null,
    accepted: null,
    write: null,
    base: null,
    wallMs: null,
    seen: {},
  };
  world.services.b.overwrite("nightly-billing", { schema: 4, quorum: JSON.stringify(note) });
  await expect(one.get()).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: expect.stringMatching(/^b .*quorum of a, b, z, but this quorum is of a, b, c/),
  });

  world.services.b.overwrite("nightly-billing", { schema: 3, term: 7 });
  expect(nonceOf(await one.get())).toBe("first");
  world.services.c.overwrite("nightly-billing", { schema: 3, term: 7 });
  await expect(one.get()).rejects.toMatchObject({
    code: "FOREIGN_RECORD",
    message: expect.stringContaining("used without a quorum"),
  });
  expect(world.services.b.record("nightly-billing")).toEqual({ schema: 3, term: 7 });
});

test("a prepare that one member refuses starts over: it reads all members again before any accept", async () => {
  const { world, one, other: rival, first } = await begun("rival");
  await rival.get();
  await world.clock.advance(2_000);
  world.requests();
  let late = 0;
  world.passage = ({ by, to, operation }) =>
    by === "rival" && to === "c" && operation === "put" && (late += 1) === 1
      ? { arrivals: [{ afterMs: 50, replyAfterMs: 1 }] }
      : undefined;
  const yours = rival.startPut("yours", first);
  await world.clock.advance(10);
  // a and b have promised the rival a higher ballot. c accepts, and then refuses the rival's prepare.
  const mine = one.startPut("mine", first).catch(() => undefined);
  await world.clock.runUntil(Promise.allSettled([yours, mine]));

  const byRival = world.requests().filter((request) => request.startsWith("rival"));
  expect(byRival.slice(0, 7)).toEqual([
    "rival get a",
    "rival get b",
    "rival get c",
    "rival put a",
    "rival put b",
    "rival put c",
    "rival get a",
  ]);
});

test("a member with a higher promise is not caught up until a round goes above that promise", async () => {
  const { world, one, other: dying, first } = await begun("dying");
  let version = first;
  await world.clock.advance(2_000);
  // c misses a write, so that it does not refuse the next one.
  world.passage = (request) => (isWrite(request) && request.to === "c" ? { arrivals: [] } : undefined);
  version = versionOf(await one.put("second", version));
  await world.clock.advance(2_000);
  world.passage = (request) => (isWrite(request) && request.to !== "c" ? { arrivals: [] } : undefined);
  await dying.put("never", version).catch(() => undefined);
  world.passage = () => undefined;
  const writesTo: string[][] = [];
  for (const nonce of ["third", "fourth", "fifth"]) {
    world.requests();
    version = versionOf(await one.put(nonce, version));
    await world.clock.advance(2_000);
    writesTo.push(world.requests().map((request) => request.replace("one ", "")));
  }

  for (const at of [0, 1]) expect(writesTo[at]).toEqual(["put a", "put b", "get c"]);
  expect(world.services.c.record("nightly-billing")).toMatchObject({ nonce: "fifth" });
});

test("a member that is caught up keeps a promise even of the very next ballot", async () => {
  const { world, one, other: rival, first } = await begun("rival");
  let version = first;
  await rival.get();
  world.down.add("c");
  await world.clock.advance(2_000);
  version = versionOf(await one.put("second", version));
  world.down.delete("c");
  await world.clock.advance(2_000);
  const promisedAtC = (): unknown => {
    const { quorum = "" } = world.services.c.record(ELECTION) as LeaseRecord;
    return (JSON.parse(quorum) as { promised: unknown }).promised;
  };
  let promises = 0;
  world.passage = (request) => {
    if (request.by !== "rival" || !isWrite(request)) return undefined;
    return request.to === "c" && (promises += 1) === 1 ? undefined : { arrivals: [] };
  };
  await rival.put("never", version).catch(() => undefined);
  const promised = promisedAtC();
  expect(promised).toEqual({ round: expect.any(Number), proposer: expect.any(String) });

  expect(await one.put("third", version)).toMatchObject({ stored: true });
  await world.clock.advance(2_000);
  expect(promisedAtC()).toEqual(promised);
});

test("a put that may have been applied is not reported as refused, whatever was written since", async () => {
  const { world, one, other, first } = await begun();
  await world.clock.advance(2_000);
  world.passage = (request) => (request.by === "one" && isWrite(request) && request.to !== "a" ? { arrivals: [] } : undefined);
  const mine = one.startPut("mine", first, 8_000).then(
    () => "settled",
    (error: unknown) => error,
  );
  await world.clock.advance(10);
  const found = await other.get();
  expect(nonceOf(found)).toBe("mine");
  await other.put("next", found?.version);

  expect(await world.clock.runUntil(mine)).toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: true });
});

/** Servers that start, stop, lose their disks and meet one another. */
import { getEventListeners } from "node:events";
import { expect, test, vi } from "vitest";
import { StoreError } from "@leasehold/core";
import { type StoreMember, type Lease, sleep } from "@leasehold/core/provider";
import { Server, VotingLeaseStore, type VoterReply, type Disk, type Envelope, type Request } from "../src/simulation.ts";
import { clusterOf } from "../src/roster.ts";
import { decodeStoredState } from "../src/voter-state-codec.ts";
import type { Elect, Vote } from "../src/messages.ts";
import { Cluster, shifted } from "./cluster.ts";
import { elect } from "./one-election.ts";

const REQUEST = { election: "e", candidateId: "c", leaseDurationMs: 3_000, renewIntervalMs: 1_000, timeoutMs: 300 };

test("a first start needs all three servers, and the clock gives the first term", async () => {
  const cluster = new Cluster();
  cluster.startOne("a");
  cluster.startOne("b");
  await cluster.clock.advance(60_000);
  expect(cluster.server("a").takesPart).toBe(false);

  cluster.startOne("c");
  await cluster.clock.advance(1_000);
  expect([...cluster.servers.values()].every(({ takesPart }) => takesPart)).toBe(true);
  expect((await cluster.wins("a", REQUEST)).term).toBeGreaterThan(Date.UTC(2026, 0, 1) / 1_000);
});

test("servers whose answers take two seconds start, and ask a silent one less and less often", async () => {
  const cluster = new Cluster();
  cluster.latencyMs = 1_000;
  await cluster.start();
  expect(cluster.server("a").takesPart).toBe(false);
  await cluster.clock.advance(15_000);
  expect([...cluster.servers.values()].every(({ takesPart }) => takesPart)).toBe(true);

  cluster.away.add("c");
  await cluster.server("a").close();
  cluster.disks.delete("a");
  const before = cluster.sent.length;
  cluster.startOne("a");
  await cluster.clock.advance(14_000);
  const asked = cluster.sent
    .slice(before)
    .filter(({ from, to, content }) => from === "a" && to === "c" && content.kind === "TELL");
  // It gives the answer one, two, and then always four seconds, and waits for a quarter of the next time.
  expect(asked).toHaveLength(4);
});

test("a leader counts from the send that a majority has acknowledged, and stops for a later term", async () => {
  const cluster = new Cluster(5);
  await cluster.start();
  const { store, lease } = await won(cluster, "a");
  cluster.away.add("d").add("e");
  const sentMs = cluster.clock.monotonicMs();
  const renewed = await cluster.clock.runUntil(store.renew(lease, { timeoutMs: 300 }));
  expect(renewed).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs } });

  // Its own vote and one more are no majority.
  cluster.away.add("c");
  await expect(cluster.clock.runUntil(store.renew(lease, { timeoutMs: 300 }))).rejects.toThrow(StoreError);

  cluster.away.clear();
  cluster.away.add("a");
  await cluster.clock.advance(3_100);
  const successor = await cluster.acquire("b", REQUEST);
  expect(successor.acquired && successor.lease.term).toBe(lease.term + 1);
  cluster.away.clear();
  const late = await cluster.clock.runUntil(store.renew(lease, { timeoutMs: 300 }));
  expect(late).toMatchObject({ held: false, reason: "taken" });
});

test("a renewal whose LEAD is lost has extended the lease if an overlapping one was acknowledged meanwhile", async () => {
  const cluster = new Cluster();
  await cluster.start();
  const { store, lease } = await won(cluster, "a");
  const sentMs = cluster.clock.monotonicMs();
  const first = store.renew(lease, { timeoutMs: 300 });
  await cluster.clock.advance(1);
  cluster.away.add("b").add("c");
  const second = await cluster.clock.runUntil(store.renew(lease, { timeoutMs: 300 }));
  expect(second).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs } });
  expect(await first).toEqual(second);
});

/** Changes all answers. */
class Changed extends Cluster {
  changed: (answer: Envelope<VoterReply>) => Envelope<VoterReply> = (answer) => answer;

  protected override async carry(message: Envelope<Request>): Promise<Envelope<VoterReply> | undefined> {
    const answer = await super.carry(message);
    return answer && this.changed(answer);
  }
}

test.each([
  ["for an earlier start of the asker", { toStart: "an earlier start" }],
  ["of another cluster", { cluster: "another" }],
  ["of another server", { from: "z" }],
  ["for another server", { to: "z" }],
])("an answer that is %s does not count", async (_what, change) => {
  const cluster = new Changed();
  await cluster.start();
  cluster.changed = (answer) => ({ ...answer, ...change });
  const store = cluster.store("a");
  await expect(cluster.clock.runUntil(store.acquire(REQUEST))).rejects.toThrow(StoreError);
});

/** The first message from one server to another needs a connection. A message that is given up before takes it along. */
class Far extends Cluster {
  readonly connected = new Set<string>();
  connectMs = 2_500;

  protected override async carry(message: Envelope<Request>, timeoutMs = 0): Promise<Envelope<VoterReply> | undefined> {
    const link = message.from + message.to;
    if (!this.connected.has(link) && timeoutMs <= this.connectMs) return undefined;
    if (!this.connected.has(link)) await sleep(this.clock, this.connectMs);
    this.connected.add(link);
    return await super.carry(message);
  }
}

test("servers take part and find each other again although a connection takes longer than an answer", async () => {
  const cluster = new Far();
  await cluster.start();
  await cluster.clock.advance(10_000);
  expect([...cluster.servers.values()].every(({ takesPart }) => takesPart)).toBe(true);
  cluster.connected.clear();
  await cluster.clock.advance(30_000);
  expect(cluster.names.flatMap((name) => absentAt(cluster, name))).toEqual([]);
});

test("a server that was cut off deposes no leader when it returns", async () => {
  const cluster = new Cluster();
  await cluster.start();
  const { store, lease } = await won(cluster, "a");
  cluster.away.add("c");
  for (let round = 0; round < 6; round += 1) {
    await cluster.clock.advance(1_000);
    await cluster.clock.runUntil(store.renew(lease, { timeoutMs: 300 }));
    await expect(cluster.acquire("c", REQUEST)).rejects.toThrow(StoreError);
  }
  cluster.away.clear();
  await cluster.clock.advance(1);
  const refused = await cluster.acquire("c", REQUEST);
  expect(refused).toMatchObject({ acquired: false, current: { state: "held", holder: "c", term: lease.term } });
  expect(await cluster.clock.runUntil(store.renew(lease, { timeoutMs: 300 }))).toMatchObject({ held: true });
  expect(cluster.server("c").ballots.termOf("e")).toBe(lease.term);
});

test("after a failed write a server is silent and repeats the write until one succeeds", async () => {
  const cluster = new Cluster();
  await cluster.start();
  cluster.broken.add("a");
  await expect(cluster.acquire("a", REQUEST)).resolves.toMatchObject({
    acquired: false,
  });
  cluster.broken.clear();
  expect(cluster.server("a").takesPart).toBe(false);
  // The others have granted its trial, and wait for its claim.
  await cluster.clock.advance(1_000);
  const other = await cluster.acquire("b", REQUEST);
  expect(other.acquired).toBe(true);
  await cluster.clock.advance(1_000);
  expect(cluster.server("a").takesPart).toBe(true);
  // Its decision is on the disk.
  expect(cluster.disks.get("a")).toContain('"e":{"term":');
});

test("a server whose disk hangs is reported with this reason, by itself and by the others", async () => {
  const cluster = new Cluster();
  const told: string[] = [];
  const log = { tell: (message: string) => void told.push(message), lasts: () => {}, ends: () => {} };
  cluster.others = (name) => (name === "b" ? { troubles: log } : {});
  await cluster.start();
  cluster.hanging.add("b");
  await cluster.wins("a", REQUEST);
  await cluster.clock.advance(5_000);
  expect(absentAt(cluster, "b")).toEqual([]);
  await cluster.clock.advance(30_000);
  for (const name of ["a", "b"])
    expect(absentAt(cluster, name), name).toMatchObject([{ name: "b", waitsFor: "its disk does not end a write." }]);
  expect(told.at(-1)).toBe("its disk does not end a write: this server cannot vote until it does.");
});

/** The servers that take no part, as one of them knows them. */
function absentAt(cluster: Cluster, name: string): readonly StoreMember[] {
  return cluster
    .server(name)
    .members()
    .filter(({ counts }) => !counts);
}

test("a server knows which others take no part and since when, and adopts a longer time that another one reports", async () => {
  const cluster = new Cluster();
  const ended: string[] = [];
  const troubles = { tell: () => {}, lasts: () => {}, ends: (name: string) => void ended.push(name) };
  cluster.others = () => ({ troubles });
  await cluster.start();
  await cluster.clock.advance(2_000);
  const members = cluster.store("a").members();
  expect(members.map(({ name, counts }) => [name, counts])).toEqual([
    ["a", true],
    ["b", true],
    ["c", true],
  ]);
  await cluster.server("c").close();
  await cluster.clock.advance(12_000);
  expect(absentAt(cluster, "a")).toMatchObject([{ name: "c", waitsFor: "it does not answer." }]);
  await cluster.server("a").close();
  cluster.startOne("a");
  await cluster.clock.advance(40_000);
  const [absent] = absentAt(cluster, "a");
  expect(absent).toMatchObject({ name: "c", waitsFor: "it does not answer." });
  expect(absent?.forMs).toBeGreaterThanOrEqual(absentAt(cluster, "b")[0]!.forMs - 1_000);
  ended.length = 0;
  cluster.startOne("c");
  await cluster.clock.advance(15_000);
  expect(absentAt(cluster, "a")).toEqual([]);
  expect(ended).toContain("members");
});

test("a server whose disk cannot be written is reported as taking no part", async () => {
  const cluster = new Cluster();
  await cluster.start();
  cluster.broken.add("a");
  await cluster.acquire("a", REQUEST);
  await cluster.clock.advance(10_000);
  expect(absentAt(cluster, "b")).toMatchObject([{ name: "a", waitsFor: "it takes no part." }]);
  expect(absentAt(cluster, "a")).toMatchObject([{ name: "a", waitsFor: "it takes no part." }]);
  cluster.broken.delete("a");
  await cluster.clock.advance(11_000);
  expect(absentAt(cluster, "b")).toEqual([]);
});

test.each([300, 5_000])("a hanging disk delays a claim no longer than a quarter of its %i ms", async (timeoutMs) => {
  const cluster = new Cluster();
  await cluster.start();
  cluster.hanging.add("a");
  const acquired = cluster.store("a").acquire({ ...REQUEST, timeoutMs });
  // The trial takes up to a quarter as well, and two messages.
  await expect(cluster.clock.runUntil(acquired, timeoutMs / 2 + 2)).rejects.toMatchObject({
    code: "STORE_TIMEOUT",
    store: "voting",
    operation: "ELECT",
    mayHaveBeenApplied: true,
  });
});

test("a hanging disk delays an order to break no longer either, and may keep it all the same", async () => {
  const cluster = new Cluster();
  await cluster.start();
  const { store, lease } = await won(cluster, "a");
  cluster.hanging.add("a");
  const broken = store.break("e", { reason: "a test", ifTerm: lease.term, timeoutMs: 300 });
  await expect(cluster.clock.runUntil(broken, 10_000)).rejects.toMatchObject({
    code: "STORE_TIMEOUT",
    mayHaveBeenApplied: true,
    cause: { code: "STORE_TIMEOUT", store: "voting", operation: "BREAK" },
  });
});

test("an answer waits for changes of its own election, and a heartbeat does not wait for votes of another one", async () => {
  const cluster = new Cluster();
  await cluster.start();
  const { store, lease } = await won(cluster, "a");
  cluster.hanging.add("b").add("c");
  const other = store.acquire({ ...REQUEST, election: "other" });
  await expect(cluster.clock.runUntil(other, 1_000)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  const renewed = await cluster.clock.runUntil(store.renew(lease, { timeoutMs: 300 }));
  expect(renewed).toMatchObject({ held: true });
});

test("messages from before a start are not carried out after it", async () => {
  const cluster = new Cluster();
  await cluster.start();
  const outcome = await cluster.acquire("a", REQUEST);
  expect(outcome.acquired).toBe(true);
  const captured = cluster.sent.filter(({ to, content }) => to === "b" && content.kind !== "TELL");
  expect(captured.map(({ content }) => content.kind)).toEqual(["ELECT", "ELECT", "LEAD"]);
  await cluster.server("b").close();
  cluster.startOne("b");
  await cluster.clock.advance(1_000);
  for (const message of captured) {
    expect((await cluster.deliver(message))?.content).toEqual({ kind: "SILENT" });
  }
  expect(await cluster.deliver({ ...captured[0]!, cluster: "another" })).toBeUndefined();
  expect(await cluster.deliver({ ...captured[0]!, from: "stranger" })).toBeUndefined();
});

test.each([
  ["is gone", undefined],
  ["is torn", (text: string) => text.slice(0, -1)],
  ["is an older one", "older"],
] as const)(
  "a server whose file %s takes no part until the others have reported and the longest lease has ended",
  async (_, loss) => {
    const cluster = new Cluster();
    await cluster.start();
    const older = cluster.disks.get("b");
    const { lease } = await won(cluster, "a");
    await cluster.server("b").close();
    const text = cluster.disks.get("b") ?? "";
    cluster.disks.set("b", loss === "older" ? older : typeof loss === "function" ? loss(text) : undefined);
    cluster.startOne("b");
    await cluster.clock.advance(2_900);
    expect(cluster.server("b").takesPart).toBe(false);
    cluster.away.add("c");
    await cluster.clock.advance(200);
    cluster.away.clear();
    await cluster.clock.advance(1_000);
    expect(cluster.server("b").takesPart).toBe(true);
    expect(cluster.server("b").ballots.termOf("e")).toBe(lease.term);
  },
);

test("a server says what it waits for: an answer, or, if two of three have lost their files, a new beginning of the third", async () => {
  const cluster = new Cluster();
  const waits: Record<string, string> = {};
  cluster.others = () => ({
    troubles: {
      tell: expect.unreachable,
      ends: () => undefined,
      lasts: (name, words) => void (name !== "members" && (waits[name] = words)),
    },
  });
  await cluster.start();
  expect(waits).toEqual({});
  const { lease } = await won(cluster, "c");
  const restart = async (names: readonly string[], isWiped: boolean): Promise<void> => {
    await Promise.all(names.map((name) => cluster.server(name).close()));
    for (const name of names) {
      if (isWiped) cluster.disks.delete(name);
      cluster.startOne(name);
    }
    await cluster.clock.advance(4_000);
  };
  cluster.away.add("b");
  await restart(["a"], false);
  expect(waits).toEqual({
    a: "it takes no part yet, since its file may be an older one: it waits for b to answer, or in each election for the longest lease to end.",
  });
  cluster.away.clear();

  await restart(["a", "b"], true);
  expect(waits["b"]).toBe(
    "it takes no part yet, since it has lost its file, or never had one, nor does a, and c alone cannot tell them all. To begin anew by the clocks, stop c, remove what is in its stateDirectory, and start it again.",
  );
  await restart(["c"], true);
  expect((await won(cluster, "a")).lease.term).toBeGreaterThan(lease.term);
});

test("terms rise with any clocks if votes are kept: after a clock in 2099, and after one that was set back", async () => {
  const cluster = new Cluster();
  const { clock } = cluster;
  let offMs = 73 * 365 * 86_400_000;
  cluster.others = (name) => ({ clock: shifted(clock, () => (name === "c" ? offMs : 0)) });
  await cluster.start();
  const terms: number[] = [];
  for (const name of ["a", "b", "c"]) {
    terms.push((await cluster.wins(name, REQUEST)).term);
    await Promise.all(cluster.names.map((each) => cluster.server(each).close()));
    offMs = -offMs;
    await cluster.start();
    await clock.advance(4_000);
  }
  expect(terms).toEqual(terms.toSorted((one, other) => one - other));
  expect(new Set(terms).size).toBe(3);
});

/** Makes one server's writes wait until they are let go; the others' do not wait. */
function slowDisk(cluster: Cluster, name: string): { readonly isFull: () => boolean; letGo: () => void } {
  let waiting: Array<() => void> = [];
  let isSlow = true;
  const write = async (text: string): Promise<void> => {
    if (isSlow) await new Promise<void>((resolve) => void waiting.push(resolve));
    cluster.disks.set(name, text);
  };
  const disk: Disk = { read: () => Promise.resolve(cluster.disks.get(name)), write };
  cluster.others = (each) => (each === name ? { disk } : {});
  return {
    isFull: () => waiting.length > 0,
    letGo: () => {
      isSlow = false;
      for (const resolve of waiting) resolve();
      waiting = [];
    },
  };
}

test("a server that learns of a greater loss while it begins again does not begin yet", async () => {
  const cluster = new Cluster(4);
  await cluster.start();
  const { lease } = await won(cluster, "a");
  await cluster.server("d").close();
  cluster.disks.delete("d");
  const disk = slowDisk(cluster, "d");
  cluster.away.add("a");
  const wiped = cluster.startOne("d");
  await cluster.clock.advance(11_000);
  expect(disk.isFull()).toBe(true);
  // A server that has not reported yet remembers more of it than the others do.
  const [message] = cluster.sent.filter(({ from, to, content }) => from === "b" && to === "d" && content.kind === "TELL");
  await cluster.deliver({ ...message!, from: "a", toStart: undefined, seen: 1_000 });
  disk.letGo();
  await cluster.clock.advance(100);
  expect(wiped.takesPart).toBe(false);
  cluster.away.clear();
  await cluster.clock.advance(4_000);
  expect(wiped.takesPart).toBe(true);
  expect(cluster.disks.get("d")).toContain(`"term":${lease.term}`);
});

test("a server that begins again has its new state on the disk, even after a slow earlier write", async () => {
  const cluster = new Cluster();
  await cluster.start();
  const { lease } = await won(cluster, "a");
  await cluster.server("b").close();
  const disk = slowDisk(cluster, "b");
  const server = cluster.startOne("b");
  await cluster.clock.advance(4_000);
  // Three elections wait for one write when the server finds that its file is older.
  const vote = (election: string): Promise<VoterReply> => server.ask("b", electOf(election, lease.term + 1), 100);
  const votes = ["f", "g", "h"].map(vote);
  await cluster.clock.advance(10);
  expect(disk.isFull()).toBe(true);
  const [message] = cluster.sent.filter(({ from, to }) => from === "a" && to === "b");
  await cluster.deliver({ ...message!, toStart: undefined, content: { kind: "TELL" }, seen: 1_000 });
  await cluster.clock.advance(4_000);
  disk.letGo();
  await cluster.clock.advance(1_000);
  expect(server.takesPart).toBe(true);
  expect((await Promise.all(votes)).map(({ kind }) => kind)).toEqual(["SILENT", "SILENT", "SILENT"]);
  expect(cluster.disks.get("b")).toContain(`"term":${lease.term}`);
});

test("an order to break that has reached only one server is given again", async () => {
  const cluster = new Cluster();
  await cluster.start();
  const { store, lease } = await won(cluster, "a");
  const broken = store.break("e", { reason: "why not", immediate: true, timeoutMs: 300 });
  // The answers to the administrator's read come back; the order does not arrive.
  await cluster.clock.advance(1);
  cluster.away.add("b").add("c");
  await cluster.clock.advance(400);
  cluster.away.clear();
  expect(await cluster.clock.runUntil(broken)).toEqual({ broken: true, term: lease.term });
  expect(await cluster.clock.runUntil(store.renew(lease, { timeoutMs: 300 }))).toMatchObject({ held: false, reason: "broken" });
});

test("a closed server does not vote, ask or write", async () => {
  const cluster = new Cluster();
  await cluster.start();
  const { store, lease } = await won(cluster, "a");
  await store.close();
  const sent = cluster.sent.length;
  const text = cluster.disks.get("a");
  await expect(cluster.clock.runUntil(store.renew(lease, { timeoutMs: 300 }))).rejects.toThrow("This server is closed.");
  await expect(cluster.clock.runUntil(store.acquire({ ...REQUEST, election: "other" }))).rejects.toThrow(
    "This server is closed.",
  );
  expect(cluster.sent.length).toBe(sent);
  expect(cluster.disks.get("a")).toBe(text);
});

test("a decision made while a server closes is neither sent nor written", async () => {
  const cluster = new Cluster();
  await cluster.start();
  await cluster.server("b").close();
  const disk = slowDisk(cluster, "b");
  const server = cluster.startOne("b");
  await cluster.clock.advance(1_000);
  const { term } = await cluster
    .server("a")
    .ask("a", electOf("f", 0), 100)
    .then((answer) => answer as Vote);
  const first = server.ask("b", electOf("f", term + 1), 100);
  await cluster.clock.advance(10);
  const second = server.ask("b", electOf("g", term + 1), 100);
  const closed = server.close();
  await cluster.clock.advance(10);
  disk.letGo();
  await closed;
  await cluster.clock.advance(100);
  expect([(await first).kind, (await second).kind]).toEqual(["SILENT", "SILENT"]);
  expect(cluster.disks.get("b")).toContain('"f"');
  expect(cluster.disks.get("b")).not.toContain('"g"');
});

async function won(cluster: Cluster, name: string): Promise<{ readonly store: VotingLeaseStore; readonly lease: Lease }> {
  return { store: cluster.store(name), lease: await cluster.wins(name, REQUEST) };
}

function electOf(election: string, term: number): Elect {
  return { ...elect(term, "x"), election };
}

test("a server that finds its file to be older stops writing its state, though votes wait for it", async () => {
  const cluster = new Cluster();
  await cluster.start();
  const written: string[] = [];
  const hanging: Array<() => void> = [];
  const disk: Disk = {
    read: () => Promise.resolve(cluster.disks.get("a")),
    write: (text) => new Promise((resolve) => hanging.push(() => resolve(void written.push(text)))),
  };
  await cluster.server("a").close();
  cluster.others = () => ({ disk });
  const server = cluster.startOne("a");
  await cluster.clock.advance(1_000);
  expect(server.takesPart).toBe(true);

  // The first of two votes is on its way to the disk when others turn out to remember more.
  const term = Math.floor(cluster.clock.wallMs() / 1_000) + 10;
  const votes = [];
  for (const election of ["e", "f"]) {
    votes.push(server.ask("a", electOf(election, term), 300));
    await cluster.clock.advance(1);
  }
  const message = cluster.sent.findLast(({ from, to }) => from === "b" && to === "a") as Envelope<Request>;
  cluster.away.add("b").add("c");
  await cluster.deliver({ ...message, content: { kind: "TELL" }, seen: 1_000 });
  while (hanging.length > 0) {
    hanging.shift()?.();
    await cluster.clock.advance(1);
  }
  expect(await Promise.all(votes)).toEqual([{ kind: "SILENT" }, { kind: "SILENT" }]);
  expect(written).toHaveLength(2);
  expect(written[1]).toBe("");
});

test("a watch that has ended is not called any more", async () => {
  const cluster = new Cluster();
  await cluster.start();
  const server = cluster.server("a");
  const end = vi.fn<() => void>();
  vi.spyOn(server, "onSign").mockReturnValue(end);
  const { signal } = new AbortController();
  const watch = new VotingLeaseStore(server).watch("e", { signal });
  await watch.next();
  await watch.return(undefined);
  expect(end).toHaveBeenCalledOnce();
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("a server that has lost its file goes on above the highest write counter that another one has named, whatever arrives late", async () => {
  const { clock } = new Cluster();
  const written: string[] = [];
  const disk: Disk = { read: () => Promise.resolve(undefined), write: (text) => Promise.resolve(void written.push(text)) };
  const asked = Promise.withResolvers<Envelope<Request>>();
  const answered = Promise.withResolvers<Envelope<VoterReply>>();
  let receive: (message: Envelope<Request>) => Promise<unknown> = () => Promise.resolve();
  const transport = {
    send: (message: Envelope<Request>) => {
      asked.resolve(message);
      return answered.promise;
    },
    listen: (receiver: typeof receive) => Promise.resolve(void (receive = receiver)),
    close: () => Promise.resolve(),
  };
  const server = new Server({ name: "a", names: ["a", "b"], clock, disk, transport });
  await server.start();
  const { start: toStart } = await asked.promise;
  const header = { cluster: clusterOf(["a", "b"]), from: "b", to: "a", start: "b1", toStart, writes: 1 };
  await receive({ ...header, seen: 7, content: { kind: "TELL" } });
  const before = { forgot: false, isFresh: false, floor: 5, clockFloor: 5, terms: {}, longestLeaseMs: 0 };
  answered.resolve({ ...header, seen: 3, content: { kind: "TELL", ...before } });
  await clock.advance(1);

  expect(server.takesPart).toBe(true);
  expect(decodeStoredState(written.at(-1))?.writes).toBeGreaterThan(7);
  await server.close();
});

test("a LEAD that a restarted server has not taken is not sent again after the RELEASE", async () => {
  const cluster = new Cluster();
  await cluster.start();
  const { store, lease } = await won(cluster, "a");
  cluster.latencyMs = 50;
  const before = cluster.sent.length;
  void store.renew(lease, { timeoutMs: 300 }).catch(() => undefined);
  await cluster.clock.advance(10);
  await cluster.server("c").close();
  cluster.startOne("c");
  void store.release(lease, { timeoutMs: 300 }).catch(() => undefined);
  await cluster.clock.advance(1_000);

  const kinds = cluster.sent.slice(before).filter(({ from, to }) => from === "a" && to === "c");
  expect(kinds.map(({ content }) => content.kind)).toEqual(["LEAD", "RELEASE", "RELEASE"]);
  await expect(cluster.acquire("c", REQUEST)).resolves.toMatchObject({
    acquired: true,
  });
});

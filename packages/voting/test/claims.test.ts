/** The winner of several claims at once, and the time at which a loser claims again. */
import { expect, test } from "vitest";
import type { Lease } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import type { Elect } from "../src/messages.ts";
import { Pace } from "../src/pace.ts";
import { ServerClaims } from "../src/server-claims.ts";
import { majorityOf } from "../src/startup-recovery.ts";
import type { Server, VotingLeaseStore, VoterReply, Envelope, Request } from "../src/simulation.ts";
import { Cluster } from "./cluster.ts";

const LEASE_MS = 3_000;
const RETRY_MS = 2_000;
const request = (candidateId: string) => ({
  election: "e",
  candidateId,
  leaseDurationMs: LEASE_MS,
  renewIntervalMs: 1_000,
  timeoutMs: 300,
});

async function startedWith(count: number): Promise<Cluster> {
  const cluster = new Cluster(count);
  await cluster.start();
  return cluster;
}

/** Returns the winners of claims that begin at one instant. A claim that rejects has not won. */
async function winners(cluster: Cluster, ...names: readonly string[]): Promise<string[]> {
  const claims = names.map(async (name) => {
    const claim = cluster.store(name).acquire(request(name));
    return (await claim.catch(() => undefined))?.acquired === true ? [name] : [];
  });
  return (await cluster.clock.runUntil(Promise.all(claims))).flat();
}

test("a claim that only its own server has granted, too early, does not split later votes", async () => {
  const cluster = await startedWith(3);
  const lease = await cluster.wins("c", request("c"));
  // The last LEAD of c reaches b a tenth of a second later than a.
  cluster.away.add("b");
  await cluster.clock.runUntil(cluster.store("c").renew(lease, { timeoutMs: 300 }));
  await cluster.clock.advance(100);
  await cluster.deliver(cluster.sent.findLast(({ to, content }) => to === "b" && content.kind === "LEAD")!);
  cluster.away.delete("b");
  cluster.away.add("c");
  await cluster.clock.advance(LEASE_MS - 100);
  expect(await winners(cluster, "a")).toEqual([]);
  await cluster.clock.advance(100);
  expect(await winners(cluster, "a", "b")).toEqual(["a"]);
});

test.each(["broken", "hanging"] as const)("a server whose disk is %s sends no trial", async (fault) => {
  const cluster = await startedWith(5);
  cluster[fault].add("a");
  void cluster.server("a").remember();
  await cluster.clock.advance(11_000);
  const before = cluster.sent.length;
  expect(await winners(cluster, "a", "b")).toEqual(["b"]);
  expect(cluster.sent.slice(before).filter(({ from, content }) => from === "a" && content.kind === "ELECT")).toEqual([]);
});

test("a loser whose winner does not lead claims again after a random wait, before a whole retry period", async () => {
  const cluster = await startedWith(3);
  // The server a wins the trial, but cannot keep its own vote.
  cluster.broken.add("a");
  expect(await winners(cluster, "a", "b", "c")).toEqual([]);
  const waits = ["b", "c"].map((name) => cluster.store(name).nextLookMs("e", RETRY_MS));
  expect(Math.min(...waits)).toBeGreaterThan(20);
  expect(Math.max(...waits)).toBeLessThan(200);
  expect(new Set(waits).size).toBe(2);
  await cluster.clock.advance(Math.min(...waits));
  expect(await winners(cluster, "a", "b", "c")).toEqual(["b"]);
});

test("a lost claim wakes no campaign of its own process, although its votes tell of a term; a won claim wakes them", async () => {
  const cluster = await startedWith(3);
  await cluster.wins("a", request("a"));
  await cluster.server("b").close();
  cluster.startOne("b");
  await cluster.clock.advance(1_000);
  const wakesOf = async (...expected: readonly string[]): Promise<number> => {
    const ended = new AbortController();
    let wakes = 0;
    const watch = async (): Promise<void> => {
      for await (const _ of cluster.store("b").watch("e", { signal: ended.signal })) wakes += 1;
    };
    const watching = watch();
    await cluster.clock.advance(0);
    expect(await winners(cluster, "b")).toEqual(expected);
    await cluster.clock.advance(1_000);
    ended.abort();
    await watching;
    return wakes;
  };
  expect(await wakesOf()).toBe(1);
  await cluster.clock.advance(LEASE_MS);
  expect(await wakesOf("b")).toBe(2);
});

test("a candidate refused by servers that a RELEASE has not reached yet claims again soon", async () => {
  const cluster = await startedWith(5);
  const lease = await cluster.wins("a", request("a"));
  for (const name of ["c", "d", "e"]) cluster.away.add(name);
  await cluster.clock.runUntil(
    cluster
      .store("a")
      .release(lease, { timeoutMs: 300 })
      .catch(() => undefined),
  );
  cluster.away.clear();
  expect(await winners(cluster, "b")).toEqual([]);
  expect(cluster.store("b").nextLookMs("e", RETRY_MS)).toBeLessThan(200);
});

test("a candidate that knows a leader from other servers only claims once that lease has ended", async () => {
  const cluster = await startedWith(3);
  cluster.away.add("a");
  expect(await winners(cluster, "b")).toEqual(["b"]);
  cluster.away.delete("a");
  const store = cluster.store("a");
  expect(await cluster.clock.runUntil(store.read("e", { timeoutMs: 300 }))).toMatchObject({ state: "held", holder: "b" });
  const waitMs = store.nextLookMs("e", RETRY_MS);
  expect(waitMs).toBeGreaterThan(LEASE_MS - 100);
  expect(waitMs).toBeLessThan(LEASE_MS);
  await cluster.clock.advance(1_000);
  expect(store.nextLookMs("e", RETRY_MS)).toBe(waitMs - 1_000);
});

test("a winner waits for its own hold, and not for an earlier refusal", async () => {
  const cluster = await startedWith(3);
  const [a, b] = [cluster.store("a"), cluster.store("b")];
  const lease = await cluster.wins("b", request("b"));
  expect(await winners(cluster, "a")).toEqual([]);
  await cluster.clock.runUntil(b.release(lease, { timeoutMs: 300 }));
  const next = await cluster.wins("a", request("a"));
  const { term } = lease;
  expect(cluster.sent.findLast(({ content }) => content.kind === "ELECT")?.content).toMatchObject({ heard: { term, number: 1 } });
  await cluster.clock.runUntil(a.release(next, { timeoutMs: 300, holdMs: 500 }));
  expect(a.nextLookMs("e", 2 * LEASE_MS)).toBeLessThanOrEqual(500);
  await cluster.clock.advance(500);
  expect(a.nextLookMs("e", 2 * LEASE_MS)).toBe(2 * LEASE_MS);
});

test("a claim while another one of its server is under way sends nothing", async () => {
  const cluster = await startedWith(3);
  const first = cluster.store("a").acquire(request("a"));
  const second = await cluster.clock.runUntil(cluster.store("a").acquire(request("b")));
  expect(second).toMatchObject({ acquired: false });
  expect(JSON.stringify(cluster.sent)).not.toContain('"candidateId":"b"');
  expect(await cluster.clock.runUntil(first)).toMatchObject({ acquired: true });
});

test("a claim sends no LEAD before its server has kept the write counters of the voters", async () => {
  const cluster = await startedWith(3);
  const claim = cluster.store("a").acquire(request("a"));
  while (!cluster.sent.some(({ content }) => content.kind === "ELECT" && !content.trial)) await cluster.clock.advance(1);
  // The own vote is on the disk. The next write has the counters.
  cluster.hanging.add("a");
  await expect(cluster.clock.runUntil(claim)).rejects.toMatchObject({ operation: "remember" });
  expect(cluster.sent.filter(({ content }) => content.kind === "LEAD")).toEqual([]);
});

test("a lease that its elector has forgotten is not renewed, and no LEAD is sent for it", async () => {
  const cluster = await startedWith(3);
  const lease = await cluster.wins("a", request("a"));
  const sent = cluster.sent.length;
  cluster.store("a").forget(lease);
  expect(await cluster.store("a").renew(lease, { timeoutMs: 300 })).toMatchObject({ held: false, reason: "taken" });
  expect(cluster.sent.length).toBe(sent);
});

test("a release is not-held if a majority answers it and one of these servers knows a later term", async () => {
  const cluster = await startedWith(3);
  const lease = await cluster.wins("a", request("a"));
  cluster.away.add("a");
  await cluster.clock.advance(2 * LEASE_MS);
  expect(await winners(cluster, "b")).toEqual(["b"]);
  cluster.away.delete("a");
  cluster.away.add("c");
  expect(await cluster.clock.runUntil(cluster.store("a").release(lease, { timeoutMs: 300 }))).toBe("not-held");
});

test("a server whose claims fail because no answers reach it comes after others until it has led", async () => {
  const cluster = await startedWith(3);
  cluster.deaf.add("a");
  expect(await winners(cluster, "a", "b")).toEqual([]);
  await cluster.clock.advance(100);
  expect(await winners(cluster, "a", "b")).toEqual(["b"]);
});

test("a read without answers ends at once when it is cancelled", async () => {
  const cluster = await startedWith(3);
  cluster.away.add("b").add("c");
  const stopping = new AbortController();
  const read = cluster.store("a").read("e", { signal: stopping.signal });
  const reason = new Error("the caller's own reason");
  stopping.abort(reason);
  await expect(read).rejects.toBe(reason);
});

/** Loses messages of some kinds. */
class Losing extends Cluster {
  readonly lost = new Set<string>();

  protected override async carry(message: Envelope<Request>): Promise<Envelope<VoterReply> | undefined> {
    const { content } = message;
    const kind = content.kind === "ELECT" && content.trial ? "trial" : content.kind;
    return this.lost.has(kind) ? undefined : await super.carry(message);
  }
}

test.each<
  [lost: string, operation: string, isApplied: boolean, call: (store: VotingLeaseStore, lease: Lease) => Promise<unknown>]
>([
  ["trial", "a trial", false, (store) => store.acquire({ ...request("a"), election: "f" })],
  ["ELECT", "ELECT", false, (store) => store.acquire({ ...request("a"), election: "f" })],
  ["LEAD", "LEAD", false, (store) => store.acquire({ ...request("a"), election: "f" })],
  ["READ", "READ", false, (store) => store.read("f", { timeoutMs: 300 })],
  ["READ", "READ", false, (store) => store.check({ election: "e", timeoutMs: 300 })],
  ["LEAD", "LEAD", true, (store, lease) => store.renew(lease, { timeoutMs: 300 })],
  ["RELEASE", "RELEASE", true, (store, lease) => store.release(lease, { timeoutMs: 300 })],
  ["READ", "READ", false, (store) => store.break("e", { reason: "why", ifTerm: 1 })],
])("if every %s is lost, no majority has answered %s, and mayHaveBeenApplied is %s", async (...row) => {
  const [lost, operation, mayHaveBeenApplied, call] = row;
  const cluster = new Losing(3);
  await cluster.start();
  const store = cluster.store("a");
  const lease = await cluster.wins("a", request("a"));
  cluster.lost.add(lost);
  const message = expect.stringContaining(`No majority of the servers has answered ${operation} of `) as string;
  await expect(cluster.clock.runUntil(call(store, lease))).rejects.toMatchObject({
    store: "voting",
    message,
    mayHaveBeenApplied,
  });
});

test("a minTerm that is no term, or leaves no room for later terms, is refused before anything is sent", async () => {
  const cluster = await startedWith(3);
  const acquire = (minTerm: number) => cluster.clock.runUntil(cluster.store("a").acquire({ ...request("a"), minTerm }));
  for (const minTerm of [Number.MAX_SAFE_INTEGER, 0.5, -1]) {
    await expect(acquire(minTerm)).rejects.toMatchObject({ code: "CONFIGURATION" });
  }
  expect(cluster.sent.filter(({ content }) => content.kind === "ELECT")).toEqual([]);
  expect(await acquire(2 ** 52)).toMatchObject({ acquired: true, lease: { term: 2 ** 52 } });
});

test("a candidate refused for a broken term that only others know claims again once the block has ended", async () => {
  const cluster = await startedWith(3);
  const [a, b] = [cluster.store("a"), cluster.store("b")];
  cluster.away.add("a");
  const lease = await cluster.wins("b", request("b"));
  const order = { reason: "a test", ifTerm: lease.term, timeoutMs: 300 };
  expect(await cluster.clock.runUntil(b.break("e", order))).toMatchObject({ broken: true });
  cluster.away.clear();
  const refused = await cluster.clock.runUntil(a.acquire(request("a")));
  expect(refused).toMatchObject({ acquired: false, current: { state: "ending" } });
  const waitMs = a.nextLookMs("e", 2 * LEASE_MS);
  expect(waitMs).toBeGreaterThan(LEASE_MS / 2);
  expect(waitMs).toBeLessThan(LEASE_MS);
});

type Answer = () => Promise<VoterReply>;
const isSilent: Answer = () => Promise.reject(new Error("lost"));
const votes =
  (granted: boolean, waitMs = 0): Answer =>
  () =>
    Promise.resolve({ kind: "VOTE", granted, term: 1, waitMs });

/** Makes this many claims of a server, each in an election of its own. The servers give each trial the same answers. */
async function claimed(count: number, ...answers: readonly Answer[]): Promise<{ claims: ServerClaims; trials: Elect[] }> {
  const clock = new VirtualClock();
  const trials: Elect[] = [];
  const everyone = ["a", "b", "c"].slice(0, answers.length);
  const server = {
    ...{ name: "a", everyone, majority: majorityOf(everyone.length), clock, pace: new Pace(clock) },
    ballots: { sign: () => undefined, lastLeader: () => undefined },
    ask: (to: string, trial: Elect) => {
      trials.push(trial);
      return (answers[everyone.indexOf(to)] as Answer)();
    },
  };
  const claims = new ServerClaims(server as unknown as Server);
  for (let at = 0; at < count; at += 1) {
    await claims.claim({ ...request("a"), election: `e${at}` }).catch(() => undefined);
  }
  return { claims, trials };
}

// One election more than `MOST_CLAIMS` may be remembered. The next one makes the server forget all last claims.
test.each([
  [1_001, [true, true]],
  [1_002, [false, true]],
])("of %d refused or failed claims, the first and the last one are remembered: %j", async (count, remembered) => {
  const refused = await claimed(count, votes(false, 500));
  const elections = ["e0", `e${count - 1}`];
  expect(elections.map((election) => refused.claims.waitMs(election) > 0)).toEqual(remembered);

  const { claims, trials } = await claimed(count, isSilent);
  for (const election of elections) await claims.claim({ ...request("a"), election }).catch(() => undefined);
  expect(trials.slice(-2).map(({ hasFailed }) => hasFailed)).toEqual(remembered);
});

test.each([
  ["the only one that refuses, although another one is silent", [votes(true), votes(false, 500), isSilent]],
  ["the first of two that refuse, since one more vote is enough", [votes(true), votes(false, 900), votes(false, 500)]],
])("a lost claim waits for %s", async (_, answers) => {
  const { claims } = await claimed(1, ...answers);
  expect(claims.waitMs("e0")).toBe(500);
});

/** A server loses its state while its vote still counts, or while its acknowledgement of a LEAD does. */
import { expect, test } from "vitest";
import type { AcquireOutcome } from "@leasehold/core/provider";
import type { VoterReply, Envelope, Request } from "../src/simulation.ts";
import { Cluster, shifted } from "./cluster.ts";
import { elect } from "./one-election.ts";

const REQUEST = { election: "e", candidateId: "c", leaseDurationMs: 60_000, renewIntervalMs: 20_000, timeoutMs: 20_000 };

/** Servers whose messages may be lost, or wait until `letGo`. */
class Delayed extends Cluster {
  fate: (message: Envelope<Request>) => "arrives" | "waits" | "is answered late" | "is lost" = () => "arrives";
  readonly #letGo = Promise.withResolvers<void>();

  letGo(): void {
    this.#letGo.resolve();
  }

  protected override async carry(message: Envelope<Request>): Promise<Envelope<VoterReply> | undefined> {
    const fate = this.fate(message);
    if (fate === "is lost") return undefined;
    if (fate === "waits") await this.#letGo.promise;
    const answer = await super.carry(message);
    if (fate === "is answered late") await this.#letGo.promise;
    return answer;
  }

  /** @param loss what happens to the server's disk meanwhile. */
  async restart(name: string, loss: () => void = () => {}): Promise<void> {
    await this.server(name).close();
    loss();
    this.startOne(name);
  }

  claim(name: string, timeoutMs: number): Promise<AcquireOutcome | undefined> {
    return this.store(name)
      .acquire({ ...REQUEST, timeoutMs })
      .catch(() => undefined);
  }
}

/**
 * Five servers: c has claimed a term, a has voted for it, and the ELECTs to the others are under way.
 *
 * @param suspendedMs for how long c was suspended, which its monotonic clock does not show.
 */
async function underWay(
  suspendedMs: () => number = () => 0,
): Promise<{ cluster: Delayed; claim: Promise<AcquireOutcome | undefined> }> {
  const cluster = new Delayed(5);
  cluster.others = (name) => (name === "c" ? { clock: shifted(cluster.clock, suspendedMs) } : {});
  await cluster.start();
  // After this election, a later start is not a first start any more.
  await cluster.wins("b", { ...REQUEST, election: "before", leaseDurationMs: 200, timeoutMs: 100 });
  cluster.fate = ({ from, to, content }) =>
    from === "c" && to !== "a" && content.kind === "ELECT" && !content.trial ? "waits" : "arrives";
  const claim = cluster.claim("c", 20_000);
  await cluster.clock.advance(100);
  const votedFor = ["a", "c"].filter(
    (name) => cluster.server(name).ballots.termOf("e") > cluster.server("b").ballots.termOf("e"),
  );
  expect(votedFor).toEqual(["a", "c"]);
  // From now on no message reaches c, and none comes from it.
  cluster.fate = ({ from, to }) => (from === "c" || to === "c" ? "is lost" : "arrives");
  return { cluster, claim };
}

test("a server that has lost its disk does not vote for another candidate in the term of a claim under way", async () => {
  const { cluster, claim } = await underWay();
  await cluster.restart("a", () => cluster.disks.delete("a"));
  await cluster.clock.advance(2_000);

  // Another server claims; its messages to b are lost.
  const { fate } = cluster;
  cluster.fate = (message) => ([message.from, message.to].join() === "d,b" ? "is lost" : fate(message));
  const rival = await cluster.clock.runUntil(cluster.claim("d", 300));
  // A third server is started again. Then c is back, and its ELECT reaches b alone.
  cluster.fate = ({ content }) => (content.kind === "ELECT" ? "is lost" : "arrives");
  await cluster.restart("e");
  await cluster.clock.advance(1_000);
  cluster.away.add("d");
  cluster.letGo();
  const first = await cluster.clock.runUntil(claim);
  const terms = [rival, first].flatMap((outcome) => (outcome?.acquired ? [outcome.lease.term] : []));
  expect(terms).toHaveLength(1);
});

test("a server that has lost its disk takes part once no claim can count its vote, though the claimant is away", async () => {
  const { cluster, claim } = await underWay();
  await cluster.restart("a", () => cluster.disks.delete("a"));
  await cluster.clock.advance(9_500);
  expect(await claim).toBeUndefined();
  expect(cluster.server("a").takesPart).toBe(false);
  // The server a asks again once c has had its second to answer.
  await cluster.clock.advance(2_000);
  expect(cluster.server("a").takesPart).toBe(true);
  expect(await cluster.clock.runUntil(cluster.claim("d", 300))).toMatchObject({ acquired: true });
});

test("a candidate does not count votes that it finds after a freeze", async () => {
  let suspendedMs = 0;
  const { cluster, claim } = await underWay(() => suspendedMs);
  suspendedMs = 10_000;
  cluster.fate = () => "arrives";
  cluster.letGo();
  await cluster.clock.advance(100);
  expect(cluster.server("b").ballots.termOf("e")).toBe(cluster.server("c").ballots.termOf("e"));
  expect(await claim).toBeUndefined();
});

test("a server with an older file does not vote beside a leader that alone remembers it and is cut off", async () => {
  const cluster = new Delayed(5);
  await cluster.start();
  const older = cluster.disks.get("a");
  cluster.away.add("d").add("e");
  const lease = await cluster.wins("c", { ...REQUEST, timeoutMs: 300 });

  await cluster.restart("a", () => cluster.disks.set("a", older));
  cluster.away.clear();
  cluster.away.add("c");
  await cluster.clock.advance(2_000);
  expect(await cluster.clock.runUntil(cluster.claim("d", 300))).not.toMatchObject({ acquired: true });
  cluster.away.clear();
  const renewal = cluster.store("c").renew(lease, { timeoutMs: 300 });
  expect(await cluster.clock.runUntil(renewal)).toMatchObject({ held: true });
});

test("an answer from before a server was given an older file does not count when it arrives later", async () => {
  const cluster = new Delayed(3);
  await cluster.start();
  const before = cluster.disks.get("c");
  // The candidate a has the vote of b, and the acknowledgement of c.
  cluster.fate = ({ from, to, content }) => {
    if (from !== "a") return "arrives";
    if (to === "c" && content.kind === "LEAD") return "is answered late";
    const isVote = content.kind === "ELECT" && !content.trial;
    return (to === "b" && content.kind === "LEAD") || (to === "c" && isVote) ? "is lost" : "arrives";
  };
  const claim = cluster.claim("a", 20_000);
  await cluster.clock.advance(100);
  expect(cluster.server("c").ballots.waitMs("e", cluster.clock.monotonicMs())).toBeGreaterThan(0);
  // All others report to c, and a does not know yet what c has acknowledged.
  await cluster.restart("c", () => cluster.disks.set("c", before));
  await cluster.clock.advance(1_000);
  expect(cluster.server("c").takesPart).toBe(true);
  cluster.fate = ({ from, to }) => (from === "a" || to === "a" ? "is lost" : "arrives");
  cluster.letGo();

  expect((await cluster.clock.runUntil(cluster.claim("b", 10_000)))?.acquired).toBe(true);
  expect((await cluster.clock.runUntil(claim))?.acquired).not.toBe(true);
});

test("a late message of an earlier start blocks no candidate", async () => {
  const cluster = new Delayed(3);
  await cluster.start();
  const old = cluster.sent.find(({ from, to }) => from === "c" && to === "a") as Envelope<Request>;
  // The receiver has met the present start only.
  await cluster.restart("a");
  await cluster.restart("c");
  await cluster.clock.advance(1_000);
  await cluster.deliver(old);
  await cluster.restart("b");
  cluster.away.add("b");

  expect((await cluster.clock.runUntil(cluster.claim("a", 5_000)))?.acquired).toBe(true);
});

test("a server that took part again with an older file has lost nothing by an uncounted answer from before", async () => {
  const cluster = new Delayed(3);
  await cluster.start();
  const older = cluster.disks.get("c");
  // No other server has heard of c's write when c is given the older file.
  cluster.fate = ({ from, to }) => (from === "a" && to === "c" ? "is answered late" : to === "b" ? "is lost" : "arrives");
  const vote = cluster.server("a").ask("c", elect(9_999_999_999, "x"), 20_000);
  await cluster.clock.advance(100);
  expect(cluster.disks.get("c")).not.toBe(older);
  cluster.fate = () => "arrives";
  await cluster.restart("c", () => cluster.disks.set("c", older));
  await cluster.clock.advance(1_000);
  expect(cluster.server("c").takesPart).toBe(true);
  const asked = (): number => cluster.sent.filter(({ from, content }) => from === "c" && content.kind === "TELL").length;
  const before = asked();
  cluster.letGo();
  await cluster.clock.runUntil(vote);
  await cluster.clock.advance(1_000);
  // Otherwise the others would have to report once more.
  expect(asked()).toBe(before);
});

/** Transfers that an administrator orders, in virtual time. */
import { expect, test } from "vitest";
import { type TransferOutcome, sleep, type AcquireOutcome, type Lease } from "@leasehold/core/provider";
import type { VotingLeaseStore, VoterReply, Envelope, Request } from "../src/simulation.ts";
import { Cluster } from "./cluster.ts";

const TIMEOUT = { timeoutMs: 300 };
const LEASE_MS = 6_000;
const TRANSFER_MS = 30_000;

type Fate = "arrives" | "is lost" | "is not answered" | "comes again";

class Unreliable extends Cluster {
  fateOf: (message: Envelope<Request>) => Fate = () => "arrives";

  protected override async carry(message: Envelope<Request>): Promise<Envelope<VoterReply> | undefined> {
    const fate = this.fateOf(message);
    if (fate === "is lost") return undefined;
    if (fate === "comes again") void sleep(this.clock, LEASE_MS / 2).then(() => super.carry(message));
    const answer = await super.carry(message);
    return fate === "is not answered" ? undefined : answer;
  }
}

/** Servers of which a leads. Candidates have the names of their servers. */
class Elected {
  readonly cluster: Unreliable;

  constructor(cluster: Unreliable) {
    this.cluster = cluster;
  }

  store(name: string): VotingLeaseStore {
    return this.cluster.store(name);
  }

  async claim(name: string): Promise<AcquireOutcome | undefined> {
    const request = { election: "e", candidateId: name, leaseDurationMs: LEASE_MS, renewIntervalMs: 2_000, ...TIMEOUT };
    return await this.cluster.clock.runUntil(
      this.store(name)
        .acquire(request)
        .catch(() => undefined),
    );
  }

  async wins(name: string): Promise<Lease> {
    const outcome = await this.claim(name);
    return outcome?.acquired ? outcome.lease : expect.fail(`${name} was not elected.`);
  }

  async loses(...names: readonly string[]): Promise<void> {
    for (const name of names) expect((await this.claim(name))?.acquired, name).not.toBe(true);
  }

  /** The test awaits the outcome later. */
  transfer(from: string, to: string, ifTerm?: number): Promise<TransferOutcome> {
    const outcome = this.store(from).transfer("e", to, { transferTimeoutMs: TRANSFER_MS, ifTerm, ...TIMEOUT });
    outcome.catch(() => undefined);
    return outcome;
  }

  async renewed(name: string, lease: Lease): Promise<{ readonly held: boolean; readonly transferTo?: string | undefined }> {
    return await this.cluster.clock.runUntil(this.store(name).renew(lease, TIMEOUT));
  }

  async release(name: string, lease: Lease): Promise<void> {
    await this.cluster.clock.runUntil(
      this.store(name)
        .release(lease, TIMEOUT)
        .catch(() => undefined),
    );
    await this.cluster.clock.advance(50);
  }

  /** Stops servers, and starts them again. */
  async restart(...names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => this.cluster.server(name).close()));
    for (const name of names) this.cluster.startOne(name);
    await this.cluster.clock.advance(1_000);
  }
}

async function led(count = 3): Promise<{ elected: Elected; cluster: Unreliable; lease: Lease }> {
  const cluster = new Unreliable(count);
  await cluster.start();
  const elected = new Elected(cluster);
  return { elected, cluster, lease: await elected.wins("a") };
}

test("after a leader's death the named candidate waits for the lease, and the others for the transfer's timeout too", async () => {
  const { elected, cluster, lease } = await led();
  const outcome = elected.transfer("b", "nobody", lease.term);
  await cluster.clock.advance(100);
  await cluster.server("a").close();
  await cluster.clock.advance(LEASE_MS);
  await elected.loses("b");
  await cluster.clock.advance(TRANSFER_MS - 1_000);
  await elected.loses("c");
  expect(await cluster.clock.runUntil(outcome)).toBe("expired");
  await cluster.clock.advance(1_000);
  expect((await elected.wins("c")).term).toBeGreaterThan(lease.term);
});

test("a transfer has not expired while a needed server votes for its candidate only, whichever server heard the last LEAD", async () => {
  const { elected, cluster, lease } = await led();
  cluster.away.add("b").add("c");
  const { clock } = cluster;
  await expect(clock.runUntil(elected.store("a").renew(lease, TIMEOUT))).rejects.toThrow(/No majority/);
  cluster.away.clear();
  cluster.away.add("a");
  const outcome = elected.transfer("b", "nobody");
  await clock.advance(1_000);
  cluster.away.clear();
  await clock.advance(LEASE_MS + 1_000);
  // The LEAD that a alone has heard is later than those of the others. Only the others have the order.
  await elected.loses("a");
  await elected.restart("c");
  cluster.away.add("a");
  const atMs = clock.monotonicMs();
  expect(await clock.runUntil(outcome)).toBe("expired");
  expect(clock.monotonicMs() - atMs).toBeGreaterThan(TRANSFER_MS);
  await elected.wins("b");
});

test("an order that only one server has reaches the leader, whose RELEASE reaches the others", async () => {
  const { elected, cluster, lease } = await led(5);
  const outcome = elected.transfer("e", "b");
  // The answers to the administrator's read come back; the order arrives at no other server.
  await cluster.clock.advance(1);
  for (const name of ["a", "b", "c", "d"]) cluster.away.add(name);
  await cluster.clock.advance(100);
  cluster.away.clear();
  cluster.away.add("c").add("d");
  expect(await elected.renewed("a", lease)).toMatchObject({ held: true, transferTo: "b" });
  cluster.away.clear();
  cluster.away.add("e");
  await elected.release("a", lease);
  await elected.loses("d", "c");
  await elected.wins("b");
  cluster.away.clear();
  expect(await cluster.clock.runUntil(outcome)).toBe("accepted");
});

test("a candidate without the order gets no majority while it is kept, and learns from a refusal how long to wait", async () => {
  const { elected, cluster, lease } = await led();
  cluster.away.add("a");
  const outcome = elected.transfer("b", "nobody");
  await cluster.clock.advance(1_000);
  cluster.away.clear();
  // The leader has released without knowing of the order.
  await elected.release("a", lease);
  expect(cluster.server("a").ballots.sign("e", 0)?.transfer).toBeUndefined();
  await elected.loses("a");
  const { clock } = cluster;
  expect(elected.store("a").nextLookMs("e", TRANSFER_MS)).toBeGreaterThan(TRANSFER_MS - 5_000);
  const seen = await clock.runUntil(elected.store("a").read("e", TIMEOUT));
  expect(seen?.bar).toEqual({ kind: "transfer", candidateId: "nobody" });
  expect(await clock.runUntil(outcome)).toBe("expired");
});

test.each<[string, Fate]>([
  ["each request is lost once", "is lost"],
  ["each answer is lost once", "is not answered"],
  ["each request comes twice, the second time late", "comes again"],
])("if %s, an order is carried out once, and its outcome is reported", async (_, fate) => {
  const { elected, cluster, lease } = await led();
  const outcome = elected.transfer("b", "c");
  const seen = new Set<string>();
  cluster.fateOf = ({ content, to }) => {
    const key = `${content.kind} ${to}`;
    if (content.kind !== "TRANSFER" || seen.has(key)) return "arrives";
    seen.add(key);
    return fate;
  };
  await cluster.clock.advance(2_000);
  expect(seen).toEqual(new Set(["TRANSFER a", "TRANSFER c"]));
  expect(cluster.sent.filter(({ content }) => content.kind === "TRANSFER").length).toBe(fate === "is lost" ? 4 : 2);
  expect(await elected.renewed("a", lease)).toMatchObject({ transferTo: "c" });
  await elected.release("a", lease);
  const next = await elected.wins("c");
  await cluster.clock.advance(3_000);
  expect(await cluster.clock.runUntil(outcome)).toBe("accepted");
  // The order was for one term, whenever it arrives.
  expect((await elected.renewed("c", next)).transferTo).toBeUndefined();
  await elected.release("c", next);
  await elected.wins("b");
});

test("of two orders the later one counts, and the earlier one is lost", async () => {
  const { elected, cluster, lease } = await led();
  const first = elected.transfer("a", "a");
  await cluster.clock.advance(1_000);
  expect(await elected.renewed("a", lease)).toMatchObject({ transferTo: "a" });
  const second = elected.transfer("b", "c");
  await cluster.clock.advance(1_000);
  expect(await elected.renewed("a", lease)).toMatchObject({ transferTo: "c" });
  await elected.release("a", lease);
  expect(await cluster.clock.runUntil(first)).toBe("lost");
  await elected.loses("a", "b");
  // The named candidate has led, though not for long.
  await elected.release("c", await elected.wins("c"));
  expect(await cluster.clock.runUntil(second)).toBe("accepted");
});

test("the order survives a restart of all servers, and its administrator is told the outcome", async () => {
  const { elected, cluster, lease } = await led();
  await elected.release("a", lease);
  const outcome = elected.transfer("b", "c", lease.term);
  await cluster.clock.advance(1_000);
  await elected.restart("a", "c");
  await cluster.clock.advance(LEASE_MS);
  await elected.loses("a", "b");
  await elected.wins("c");
  expect(await cluster.clock.runUntil(outcome)).toBe("accepted");

  await elected.restart("a", "b", "c");
  await cluster.clock.advance(LEASE_MS);
  const again = await elected.wins("a");
  await elected.release("a", again);
  const late = elected.transfer("b", "nobody", again.term);
  await cluster.clock.advance(1_000);
  await elected.restart("a", "b", "c");
  await cluster.clock.advance(LEASE_MS);
  // The servers know only that the term has an order. Another order can still be given.
  const second = elected.transfer("b", "c", again.term);
  await cluster.clock.advance(1_000);
  await elected.loses("a", "b");
  await elected.wins("c");
  expect(await cluster.clock.runUntil(second)).toBe("accepted");
  await expect(cluster.clock.runUntil(late)).rejects.toThrow(/outcome of the transfer of 'e' is unknown/);
});

test("a broken term without a leader can be transferred: then only the named candidate leads", async () => {
  const { elected, cluster, lease } = await led();
  await cluster.clock.runUntil(elected.store("c").break("e", { reason: "why not", ...TIMEOUT }));
  await cluster.clock.advance(LEASE_MS);
  const outcome = elected.transfer("b", "c", lease.term);
  await cluster.clock.advance(1_000);
  await elected.loses("a", "b");
  const seen = await cluster.clock.runUntil(elected.store("b").read("e", TIMEOUT));
  expect(seen).toMatchObject({ state: "expired", bar: { kind: "transfer", candidateId: "c" } });
  expect(seen).not.toHaveProperty("endingReason");
  await elected.wins("c");
  expect(await cluster.clock.runUntil(outcome)).toBe("accepted");
});

test("the administrator learns that the named candidate leads, even if it reads during that election", async () => {
  for (let offsetMs = 0; offsetMs < 500; offsetMs += 50) {
    const { elected, cluster, lease } = await led();
    cluster.latencyMs = 50;
    const outcome = elected.transfer("b", "c");
    await cluster.clock.advance(1_000 + offsetMs);
    await elected.release("a", lease);
    await cluster.clock.advance(100);
    await elected.wins("c");
    expect(await cluster.clock.runUntil(outcome), `${offsetMs}`).toBe("accepted");
  }
});

test("a transfer is not lost if the named candidate is elected but leads only after another claim", async () => {
  const { elected, cluster, lease } = await led();
  const outcome = elected.transfer("b", "c");
  await cluster.clock.advance(1_000);
  await elected.release("a", lease);
  cluster.fateOf = ({ from, content }) => (from === "c" && content.kind === "LEAD" ? "is lost" : "arrives");
  // Its RELEASE tells the others of a term whose LEADs they have not heard.
  await elected.loses("c");
  cluster.fateOf = () => "arrives";
  await cluster.clock.advance(1_000);
  await elected.wins("c");
  expect(await cluster.clock.runUntil(outcome)).toBe("accepted");
});

test("a transfer has expired if the named candidate has the votes and dies, once no claim can be under way", async () => {
  const { elected, cluster, lease } = await led();
  const outcome = elected.transfer("b", "c");
  await cluster.clock.advance(1_000);
  await elected.release("a", lease);
  cluster.fateOf = ({ from, content }) => (from === "c" && /LEAD|RELEASE/.test(content.kind) ? "is lost" : "arrives");
  await elected.loses("c");
  await cluster.server("c").close();
  const atMs = cluster.clock.monotonicMs();
  expect(await cluster.clock.runUntil(outcome)).toBe("expired");
  expect(cluster.clock.monotonicMs() - atMs).toBeLessThan(11_000);
  await elected.wins("b");
});

test("a leader that was told of a later break does not pass the lifted order on", async () => {
  const { elected, cluster, lease } = await led();
  cluster.fateOf = ({ to, content }) => (to === "c" && content.kind === "TRANSFER" ? "is lost" : "arrives");
  void elected.transfer("b", "nobody");
  await cluster.clock.advance(1_000);
  expect(await elected.renewed("a", lease)).toMatchObject({ transferTo: "nobody" });
  cluster.fateOf = ({ to, content }) => (to === "c" && content.kind === "BREAK" ? "is lost" : "arrives");
  await cluster.clock.runUntil(elected.store("b").break("e", { reason: "why not", ...TIMEOUT }));
  expect(await elected.renewed("a", lease)).toMatchObject({ held: false, reason: "broken" });
  await elected.release("a", lease);
  await cluster.server("b").close();
  await elected.wins("c");
});

test("a break given at the same time lifts the transfer on every server, in any order of arrival", async () => {
  const { elected, cluster, lease } = await led();
  // The order reaches b alone before the break, and the administrator of the break does not know of it.
  let isFirst = true;
  cluster.fateOf = ({ content }) => (content.kind === "TRANSFER" && isFirst ? "is lost" : "arrives");
  void elected.transfer("b", "nobody");
  const broken = elected.store("c").break("e", { reason: "why not", ...TIMEOUT });
  expect(await cluster.clock.runUntil(broken)).toEqual({ broken: true, term: lease.term });
  isFirst = false;
  await cluster.clock.advance(100);
  await cluster.server("a").close();
  await cluster.clock.advance(LEASE_MS);
  await elected.wins("c");
});

test("a server that loses its disk forgets the transfer, so another candidate can lead", async () => {
  const { elected, cluster, lease } = await led();
  cluster.away.add("a");
  const outcome = elected.transfer("b", "nobody", lease.term);
  await cluster.clock.advance(1_000);
  cluster.away.clear();
  await cluster.clock.advance(LEASE_MS);
  await elected.loses("a");
  cluster.disks.delete("c");
  await elected.restart("c");
  await cluster.clock.advance(LEASE_MS + 1_000);
  await elected.wins("c");
  expect(await cluster.clock.runUntil(outcome)).toBe("lost");
});

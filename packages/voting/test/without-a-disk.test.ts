/** Servers whose disks keep nothing: what they know at a start is what the clock and the others tell. */
import { describe, expect, test } from "vitest";
import { SAFETY_MARGIN, type Lease } from "@leasehold/core/provider";
import { SeededRandom } from "@leasehold/core/testing";
import { VotingLeaseStore } from "../src/simulation.ts";
import { Cluster, shifted } from "./cluster.ts";

const LONGEST = 10_000;
const REQUEST = { election: "e", candidateId: "c", leaseDurationMs: 3_000, renewIntervalMs: 1_000, timeoutMs: 300 };
const YEARS_MS = 73 * 365 * 86_400_000;

/** Servers of which nobody keeps anything. */
class Forgetful extends Cluster {
  readonly offMs: Record<string, number> = {};
  /** What each has said last that it waits for, and all that they have told at once. */
  readonly waits: Record<string, string> = {};
  readonly told = new Set<string>();

  constructor() {
    super(3);
    this.others = (name) => ({
      longestLeaseMs: LONGEST,
      disk: { read: () => Promise.resolve(undefined), write: () => Promise.resolve() },
      clock: shifted(this.clock, () => this.offMs[name] ?? 0),
      troubles: {
        ends: () => undefined,
        tell: (words) => void this.told.add(`${name}: ${words}`),
        lasts: (_, words) => void (this.waits[name] = words),
      },
    });
  }

  async startAll(): Promise<void> {
    for (const name of this.names) this.startOne(name);
    await this.clock.advance(LONGEST + 1_000);
  }

  async restart(...names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => this.server(name).close()));
    for (const name of names) this.startOne(name);
  }

  /** Claims; the caller sees to it that time goes on. */
  async claim(name: string, others: Partial<typeof REQUEST> = {}): Promise<Lease | undefined> {
    const store = new VotingLeaseStore(this.server(name));
    const outcome = await store.acquire({ ...REQUEST, ...others }).catch(() => undefined);
    return outcome?.acquired ? outcome.lease : undefined;
  }

  async acquire(...claim: Parameters<Forgetful["claim"]>): Promise<Lease | undefined> {
    return await this.clock.runUntil(this.claim(...claim));
  }

  get taking(): number {
    return this.names.filter((name) => this.server(name).takesPart).length;
  }
}

test("a first start, and one of all, waits for the longest lease, and goes on above every term of before", async () => {
  const cluster = new Forgetful();
  cluster.offMs["c"] = LONGEST;
  for (const name of cluster.names) cluster.startOne(name);
  await cluster.clock.advance(LONGEST - 100);
  expect(cluster.taking).toBe(0);
  expect(cluster.told).toEqual(new Set());
  await cluster.clock.advance(1_000);
  expect(cluster.taking).toBe(3);
  const lease = await cluster.acquire("a");

  await cluster.restart(...cluster.names);
  await cluster.clock.advance(LONGEST - 100);
  expect(cluster.taking).toBe(0);
  await cluster.clock.advance(1_000);
  const next = await cluster.acquire("b");
  expect(next?.term).toBeGreaterThan(lease?.term ?? Infinity);
});

test("one that was started again takes part once the longest lease is over and both others have told it", async () => {
  const cluster = new Forgetful();
  await cluster.startAll();
  const lease = await cluster.acquire("a");
  await cluster.restart("b");
  cluster.away.add("c");
  await cluster.clock.advance(LONGEST + 1_000);
  expect(cluster.server("b").takesPart).toBe(false);
  cluster.away.clear();
  await cluster.clock.advance(1_000);
  expect(cluster.server("b").takesPart).toBe(true);
  expect(cluster.server("b").ballots.termOf("e")).toBe(lease?.term);
});

test("two of three that were started at once say that they wait for the third to be started again, too: then all go on", async () => {
  const cluster = new Forgetful();
  for (const name of ["a", "b"]) cluster.startOne(name);
  await cluster.clock.advance(LONGEST);
  expect(cluster.waits["a"]).toBe(
    "it takes no part yet, since it keeps nothing: it waits for 1 more of the others to tell what they know, of c.",
  );
  cluster.startOne("c");
  await cluster.clock.advance(2_000);
  expect(cluster.waits["c"]).toBe(
    "it takes no part yet, since it keeps nothing: it waits for the claims and the longest lease to end that it may have known of.",
  );
  await cluster.clock.advance(LONGEST);
  const lease = await cluster.acquire("a");

  await cluster.restart("a", "b");
  await cluster.clock.advance(60_000);
  expect(cluster.taking).toBe(1);
  expect(cluster.waits["a"]).toBe(
    "it takes no part yet, since it keeps nothing, nor does b, and c alone cannot tell them all. To begin anew by the clocks, start c again too.",
  );
  await cluster.restart("c");
  await cluster.clock.advance(LONGEST + 1_000);
  expect(cluster.taking).toBe(3);
  expect((await cluster.acquire("a"))?.term).toBeGreaterThan(lease?.term ?? Infinity);
});

test("no longer lease than the longest is voted for, or acknowledged", async () => {
  const cluster = new Forgetful();
  await cluster.startAll();
  expect(await cluster.acquire("a", { leaseDurationMs: LONGEST + 1 })).toBeUndefined();
  const title = { election: "e", term: 9_000_000_000, termId: "t", candidateId: "c", leaseDurationMs: LONGEST + 1 };
  expect(await cluster.server("b").ask("b", { kind: "LEAD", ...title, number: 1 }, 100)).toMatchObject({ taken: false });
  expect(await cluster.acquire("a", { leaseDurationMs: LONGEST })).toBeDefined();
});

test("terms run no further than a lease ahead of the clock, and go on with it", async () => {
  const cluster = new Forgetful();
  await cluster.startAll();
  const store = new VotingLeaseStore(cluster.server("a"));
  let highest = 0;
  for (let round = 0; round < 30; round += 1) {
    const outcome = await cluster.clock.runUntil(store.acquire(REQUEST));
    if (!outcome.acquired) break;
    highest = outcome.lease.term;
    await cluster.clock.runUntil(store.release(outcome.lease, { timeoutMs: 300 }));
    await cluster.clock.advance(10);
  }
  const ahead = highest - Math.floor(cluster.clock.wallMs() / 1_000);
  expect(ahead).toBeGreaterThan(5);
  expect(ahead).toBeLessThanOrEqual(LONGEST / 1_000);
  expect(await cluster.acquire("a")).toBeUndefined();
  await cluster.clock.advance(2_000);
  expect((await cluster.acquire("a"))?.term).toBe(highest + 1);
});

test("a clock in 2099 keeps its own server from winning, and no other", async () => {
  const cluster = new Forgetful();
  cluster.offMs["c"] = YEARS_MS;
  await cluster.startAll();
  const rest =
    "more than 10 s %s this one: servers that keep nothing take their terms from their clocks, which have to agree to within longestLeaseMs. Correct the wrong one.";
  const [ahead, behind] = [rest.replace("%s", "ahead of"), rest.replace("%s", "behind")];
  expect([...cluster.told].toSorted()).toEqual([
    `a: the clock of c is ${ahead}`,
    `b: the clock of c is ${ahead}`,
    `c: the clock of a is ${behind}`,
    `c: the clock of b is ${behind}`,
  ]);
  expect(await cluster.acquire("c")).toBeUndefined();
  const wins = [];
  for (let round = 0; round < 10 && wins.length === 0; round += 1) {
    wins.push(...[await cluster.acquire("a")].filter((lease) => lease !== undefined));
    await cluster.clock.advance(500);
  }
  expect(wins[0]?.term).toBeLessThan(cluster.clock.wallMs() / 1_000 + LONGEST / 1_000);

  // What it knows of the future bars nobody whom it tells.
  await cluster.restart("b");
  await cluster.clock.advance(LONGEST + 1_000);
  expect(cluster.taking).toBe(3);
  cluster.away.add("c");
  const next = await cluster.acquire("b");
  expect(next?.term).toBeGreaterThan(wins[0]?.term ?? Infinity);
  expect(next?.term).toBeLessThan(cluster.clock.wallMs() / 1_000 + LONGEST / 1_000);
});

test("a clock that was wrong while its server started again gives no term twice once it is right", async () => {
  const cluster = new Forgetful();
  await cluster.startAll();
  const first = await cluster.acquire("a");
  // What a and b elect twice more, c does not hear of.
  cluster.away.add("c");
  await cluster.clock.advance(3_100);
  const second = await cluster.acquire("a");
  expect(second?.term).toBe((first?.term ?? NaN) + 1);
  await cluster.clock.advance(3_100);
  cluster.offMs["b"] = -3_600_000;
  await cluster.restart("b");
  cluster.away.clear();
  await cluster.clock.advance(LONGEST + 1_000);
  expect(cluster.server("b").takesPart).toBe(true);

  cluster.offMs["b"] = 0;
  cluster.away.add("a");
  const third = await cluster.acquire("c");
  expect(third?.term).toBeGreaterThan(second?.term ?? Infinity);
});

test("a claim that stalls before its first LEAD leads no term below the last, though a server starts again with a wrong clock", async () => {
  const cluster = new Forgetful();
  const { others } = cluster;
  const stalled = Promise.withResolvers<void>();
  let writes = 0;
  const write = (): Promise<void> => ((writes += 1) === 2 ? stalled.promise : Promise.resolve());
  cluster.others = (name) => ({
    ...others(name),
    ...(name === "a" ? { disk: { read: () => Promise.resolve(undefined), write } } : {}),
  });
  await cluster.startAll();
  // a has the votes of all when it stalls; b and c, cut off from it, elect another one.
  writes = 0;
  const claim = cluster.claim("a", { timeoutMs: 20_000 });
  await cluster.clock.advance(200);
  expect(writes).toBe(2);
  cluster.away.add("a");
  const last = await cluster.acquire("c");
  expect(last?.term).toBe(cluster.server("a").ballots.termOf("e") + 1);

  cluster.offMs["b"] = -3_600_000;
  await cluster.restart("b");
  cluster.away.clear();
  await cluster.clock.advance(LONGEST + 1_000);
  expect(cluster.server("b").takesPart).toBe(true);
  stalled.resolve();
  expect(await cluster.clock.runUntil(claim)).toBeUndefined();
});

describe("with whatever is started again whenever, and clocks that differ, of which one at a time is set back", () => {
  const seeds = Array.from({ length: 60 }, (_, index) => index + 1);
  test.each(seeds)("terms rise, and no two lead at once: seed %i", async (seed) => {
    const random = new SeededRandom(seed);
    const cluster = new Forgetful();
    // Two of them agree to less than the longest lease.
    cluster.offMs["b"] = random.pick([0, 1_500, -4_000]);
    cluster.offMs["c"] = random.pick([0, 3_600_000, -3_600_000]);
    await cluster.startAll();
    let last = { term: 0, untilMs: -Infinity };
    for (let step = 0; step < 80; step += 1) {
      // What one remembers that is left alone, the others wait for: somebody has to start it again too.
      if (cluster.taking === 1) await cluster.restart(...cluster.names.filter((name) => cluster.server(name).takesPart));
      const name = random.pick(cluster.names);
      const what = random.next();
      if (what < 0.08) await cluster.restart(...cluster.names);
      else if (what < 0.2) await cluster.restart(name);
      else if (what < 0.25) cluster.offMs["c"] = (cluster.offMs["c"] ?? 0) + random.pick([500, 60_000]);
      else if (what < 0.3) {
        // One machine starts with a clock that nobody else has, and has the right one later.
        const offMs: number = cluster.offMs["b"] ?? 0;
        cluster.offMs["b"] = -7_200_000;
        await cluster.restart("b");
        await cluster.clock.advance(LONGEST + 1_000);
        cluster.offMs["b"] = offMs;
      } else if (what < 0.35) cluster.away.add(name);
      else if (what < 0.55) cluster.away.clear();
      else {
        const leaseDurationMs = random.pick([1_000, 3_000, LONGEST]);
        const rivals = random.chance(0.4) ? cluster.names : [name];
        const claims = await cluster.clock.runUntil(
          Promise.all(rivals.map((rival) => cluster.claim(rival, { leaseDurationMs }))),
        );
        const leases = claims.filter((lease) => lease !== undefined).toSorted((one, other) => one.term - other.term);
        for (const { term, grantedAt } of leases) {
          expect(term).toBeGreaterThan(last.term);
          expect(grantedAt.monotonicMs).toBeGreaterThanOrEqual(last.untilMs);
          last = { term, untilMs: grantedAt.monotonicMs + leaseDurationMs * (1 - SAFETY_MARGIN) };
        }
      }
      await cluster.clock.advance(random.pick([10, 500, 3_000, LONGEST]));
    }
    expect(last.term).toBeGreaterThan(0);
  });
});

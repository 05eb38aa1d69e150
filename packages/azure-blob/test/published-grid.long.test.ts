import { BlobLeaseStore } from "@leasehold/azure-blob";
import { Elector } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import { describe, expect } from "vitest";
import { ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import type { BlobWorld } from "./blob-world.ts";
import { test } from "./world-test.ts";

const HOUR_MS = 3_600_000;
/** The width of a sharp grid, in whole milliseconds. */
const SHARP_MS = 30 + 2;

interface PublishedGrid {
  readonly lo: number;
  readonly hi: number;
  readonly intervalMs: number;
}

async function publishedGrid(world: BlobWorld): Promise<PublishedGrid> {
  const { metadata } = await world.blob.getProperties();
  const [lo, hi, intervalMs] = decodeURIComponent(metadata!["leasehold_grid"]!).split("_").map(Number);
  return { lo: lo!, hi: hi!, intervalMs: intervalMs! };
}

/** Returns the clock of a process on another machine. Only its rate is the same. */
function onAnotherMachine(
  clock: Clock,
  { monotonicMs, wallMs }: { readonly monotonicMs: number; readonly wallMs: number },
): Clock {
  return {
    monotonicMs: () => clock.monotonicMs() + monotonicMs,
    wallMs: () => clock.wallMs() + wallMs,
    setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
    random: () => clock.random(),
    randomUuid: () => clock.randomUuid(),
  };
}

/** `published-grid.test.ts` has what needs no Azurite. */
describe("the grid that a leader publishes", () => {
  test("bounds when the acquisition was sent, by the service's clock", async ({ world }) => {
    world.letTimeRun();
    await world.elsewhere(7 * HOUR_MS);
    const store = world.store();
    const { grantedAt } = await win(store, { renewIntervalMs: 4_000 });

    const { lo, hi, intervalMs } = await publishedGrid(world);
    const trueMs = world.serviceMs(grantedAt.monotonicMs);

    expect(intervalMs).toBe(4_000);
    expect(lo).toBeLessThanOrEqual(trueMs + 2);
    expect(hi).toBeGreaterThanOrEqual(trueMs - 2);
    expect(hi - lo).toBeLessThanOrEqual(2_000);
  });

  test("contains the true time of the grant by Azurite's own clock, and is sharper after the reads", async ({ world }) => {
    world.letTimeRun();
    for (let round = 0; round < 2; round += 1) {
      const store = world.store();
      const lease = await win(store);
      await store.renew(lease, LIMITS);
      await world.pass(9_000);
      const { lo, hi } = await publishedGrid(world);
      const trueMs = world.serviceMs(lease.grantedAt.monotonicMs);

      // The grid's width depends on how long requests take.
      expect(hi - lo).toBeLessThanOrEqual(500);
      // Azurite and this process round and move their clocks to the millisecond.
      expect(lo).toBeLessThanOrEqual(trueMs + 5);
      expect(hi).toBeGreaterThanOrEqual(trueMs - 5);
      await store.release(lease, LIMITS);
      await world.forward(333);
    }
  });

  test("delays the leader's publication by at most half of a call if its own write hangs", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    world.faultOnce("metadata", { kind: "black-hole", side: "request" });
    await store.renew(lease, { timeoutMs: 1_000 });
    await world.until(() => world.requests.some(({ fault }) => fault !== undefined));
    const startMs = world.clock.monotonicMs();

    await expect(world.settled(store.publish(lease, "http://new", { timeoutMs: 1_000 }))).resolves.toEqual({ held: true });

    expect(world.clock.monotonicMs() - startMs).toBeLessThan(600);
    await expect(store.read(ELECTION)).resolves.toMatchObject({ value: "http://new" });
  });

  test("is not made sharper once the lease is lost", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    await store.renew(lease, LIMITS);
    await world.blob.getBlobLeaseClient().breakLease(0);

    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: false });

    expect(world.clock.nextTimerInMs).toBeUndefined();
  });

  test("and the leader's publication at the same time do not overwrite each other", async ({ world }) => {
    world.dateReplies(333);
    const { elector } = world.candidate("a", { value: "0" });
    const leadership = await world.settled(elector.campaign());
    for (let value = 1; value <= 24; value += 1) {
      await world.pass(500);
      await world.settled(leadership.publish(String(value)));
    }

    const { lo, hi } = await publishedGrid(world);
    expect(hi - lo).toBeLessThanOrEqual(SHARP_MS);
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ value: "24", term: 1 });
    await world.settled(leadership.release());
  });

  test("is sharp from the first write of a leader that was a standby before, which then sends nothing for it", async ({
    world,
  }) => {
    world.dateReplies(333);
    const leader = world.candidate("a");
    const leadership = await world.settled(leader.elector.campaign());
    const standby = world.candidate("b");
    const leads = standby.elector.campaign();
    await world.pass(30_000);
    await world.settled(leadership.release());
    const next = await world.settled(leads);

    const { lo, hi } = await publishedGrid(world);
    expect(hi - lo).toBeLessThanOrEqual(SHARP_MS);
    const sent = await world.namesDuring(() => world.pass(20_000));
    expect(new Set(sent)).toEqual(new Set(["lease:renew"]));
    await world.settled(next.release());
  });
});

describe("standbys that poll by the grid", () => {
  test("find every expiry at once, with any clocks of the machines and the service", async ({ world }) => {
    world.dateReplies(5 * HOUR_MS);
    world.clock.jumpWall(-3 * HOUR_MS);
    const store = world.store();
    const leader = new Elector({ store, election: ELECTION, candidateId: "a", clock: world.clock });
    const leadership = await world.settled(leader.campaign());
    const renewalsMs: number[] = [];
    leader.on("renewed", () => renewalsMs.push(world.clock.monotonicMs()));
    const clock = onAnotherMachine(world.clock, { monotonicMs: 987_654_321, wallMs: 11 * HOUR_MS });
    const standby = new Elector({
      store: new BlobLeaseStore({ container: world.proxied, clock, createContainer: true }),
      election: ELECTION,
      candidateId: "b",
      clock,
    });
    const stopping = new AbortController();
    const run = standby.run(() => expect.fail("The leader is there."), { signal: stopping.signal });
    // Long enough for the leader to publish a sharp grid, and for the standby to know the service's clock.
    await world.pass(40_000);

    const looksMs: number[] = [];
    world.proxy.rule = ({ name }) => {
      if (name === "head") looksMs.push(world.clock.monotonicMs());
      return undefined;
    };
    const fromMs = world.clock.monotonicMs();
    await world.pass(60_000);
    stopping.abort();
    await world.settled(run);

    // After a crash following one of these renewals, the lease would have run out one lease later.
    const expiriesMs = renewalsMs.map((atMs) => atMs + LEASE_MS).filter((atMs) => atMs > fromMs && atMs < looksMs.at(-1)! - 500);
    expect(expiriesMs.length).toBeGreaterThanOrEqual(8);
    for (const expiryMs of expiriesMs) {
      const look = looksMs.find((atMs) => atMs > expiryMs)!;
      expect(look - expiryMs).toBeLessThan(120);
    }
    expect(looksMs.length).toBeLessThanOrEqual(48);
    await world.settled(leadership.release());
  });

  test("are not misled by a reply with an invalid date", async ({ world }) => {
    await win(world.store());
    world.dateReplies(NaN);
    const store = world.store();
    await store.read(ELECTION);

    const waitMs = store.nextLookMs(ELECTION, 2_000);

    expect(waitMs).toBeGreaterThan(0);
    expect(waitMs).toBeLessThanOrEqual(2_020);
  });

  test("poll at random again if there is no grid", async ({ world }) => {
    const store = world.store();
    for (const [drawn, waitMs] of [
      [0, 1_600],
      [0.5, 1_800],
      [1, 2_000],
    ] as const) {
      world.clock.random = () => drawn;
      expect(store.nextLookMs(ELECTION, 2_000)).toBeCloseTo(waitMs);
    }
    await store.release(await win(store), LIMITS);
    await store.read(ELECTION);
    const waitMs = store.nextLookMs(ELECTION, 2_000);
    expect(waitMs).toBeGreaterThanOrEqual(1_600);
    expect(waitMs).toBeLessThanOrEqual(2_000);
  });

  test.for([
    "",
    "1",
    "1_2",
    "a_b_c",
    "2_1_5000",
    "1_2_0",
    "1_2_-5",
    "1_2_5000_9",
    "NaN_NaN_NaN",
    "%E0%A4%A",
    "-Infinity_Infinity_5000",
  ])("are not led astray by a grid that is none: %s", async (grid, { world }) => {
    await win(world.store());
    const { metadata } = await world.blob.getProperties();
    const leaseId = String(world.requests.findLast(({ name }) => name === "metadata")?.headers["x-ms-lease-id"]);
    await world.blob.setMetadata({ ...metadata, leasehold_grid: grid || "%" }, { conditions: { leaseId } });
    const store = world.store();

    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "unknown", term: 1 });
    const waitMs = store.nextLookMs(ELECTION, 2_000);

    expect(waitMs).toBeGreaterThan(0);
    expect(waitMs).toBeLessThanOrEqual(2_020);
  });
});

import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, type Candidate } from "./election-world.ts";
import { ProcessClock } from "@leasehold/core/testing";

const HOUR_MS = 3_600_000;

let world: ElectionWorld;
let leaderProcess: ProcessClock;
let leader: Candidate;

beforeEach(async () => {
  world = new ElectionWorld();
  leaderProcess = new ProcessClock(world.clock, { wallOffsetMs: -9 * HOUR_MS });
  leader = world.candidate("leader", { clock: leaderProcess });
  leader.run();
  await world.clock.advance(1_000);
});

/** Kills the leader a minute from now. Returns the instant at which its last renewal was sent. */
async function crash(): Promise<number> {
  await world.clock.advance(60_000);
  leaderProcess.kill();
  return world.service.log.findLast(({ candidate, operation }) => candidate === "leader" && operation === "put")!.sentMs;
}

describe("a rival counts from after its read", () => {
  test("a standby takes over when the lease has expired, and not before", async () => {
    const standby = world.candidate("b");
    standby.run();
    const lastMs = await crash();

    await world.clock.advance(2 * LEASE_MS);

    const [tookOverMs] = standby.events.timesMs("startedLeading");
    expect(tookOverMs! - lastMs).toBeGreaterThanOrEqual(LEASE_MS);
    expect(tookOverMs! - lastMs).toBeLessThanOrEqual(standby.elector.timing.crashFailoverMs);
    expect(standby.elector.isLeader).toBe(true);
  });

  test.each([
    ["goes first, with one write, and no read before it", 0, 0],
    ["is not among the first, with a read that shows whether one of them has acquired", 0.5, 1],
  ])("a standby that %s, once it has seen the nonce for the whole lease", async (_, drawn, reads) => {
    const process = new ProcessClock(world.clock);
    process.random = () => drawn;
    const standby = world.candidate("b", { clock: process, latencyMs: 20 });
    standby.run();
    const lastMs = await crash();
    await world.clock.advance(lastMs + LEASE_MS - world.clock.monotonicMs());
    const before = [world.service.count("b", "get"), world.service.count("b", "put")];

    await world.clock.advance(400);

    expect(standby.elector.isLeader).toBe(true);
    const after = [world.service.count("b", "get"), world.service.count("b", "put")];
    expect([after[0]! - before[0]!, after[1]! - before[1]!]).toEqual([reads, 1]);
  });

  test("a standby that is alone, far from the store and not among the first leads 3.3 round trips after the lease at most", async () => {
    const roundTripMs = 100;
    const process = new ProcessClock(world.clock);
    process.random = () => 0.99;
    const standby = world.candidate("b", { clock: process, latencyMs: roundTripMs });
    standby.run();
    const lastMs = await crash();

    await world.clock.advance(2 * LEASE_MS);

    const [tookOverMs = Infinity] = standby.events.timesMs("startedLeading");
    expect((tookOverMs - lastMs - LEASE_MS) / roundTripMs).toBeLessThanOrEqual(3.3);
  });

  test("a standby that writes without a read, on a lease renewed after its last poll, fails and does not lead", async () => {
    const process = new ProcessClock(world.clock);
    process.random = () => 0;
    const standby = world.candidate("b", { clock: process, latencyMs: 20 });
    standby.run();
    await world.clock.advance(60_000);
    // All its polls return the state before the renewals, as if every newer reply were lost.
    const stale = await world.clock.runUntil(standby.records.get(ELECTION));
    standby.records.get = () => Promise.resolve(stale);
    const puts = world.service.count("b", "put");
    await world.clock.advance(LEASE_MS + 2_000);

    expect(standby.elector.isLeader).toBe(false);
    expect(leader.elector.isLeader).toBe(true);
    expect(world.service.count("b", "put") - puts).toBeGreaterThanOrEqual(1);
  });
});

describe("the margin is for clocks that differ", () => {
  test.each([
    [0.95, 1.04],
    [1.04, 0.95],
    [1, 1.1],
    [0.91, 1],
  ])(
    "a leader whose clocks run at %d and a standby whose clocks run at %d are never both valid",
    async (leaderRate, standbyRate) => {
      const drifting = new ElectionWorld();
      const a = drifting.candidate("a", { clock: new ProcessClock(drifting.clock, { rate: leaderRate, wallOffsetMs: HOUR_MS }) });
      const b = drifting.candidate("b", { clock: new ProcessClock(drifting.clock, { rate: standbyRate }) });
      a.run();
      await drifting.clock.advance(1_000);
      b.run();
      await drifting.clock.advance(60_000);
      a.records.failAll({ kind: "lost" });

      let tookOver = false;
      for (let steps = 0; steps < 4_000; steps += 1) {
        await drifting.clock.advance(5);
        expect(a.elector.isLeader && b.elector.isLeader).toBe(false);
        tookOver ||= b.elector.isLeader;
      }
      expect(tookOver).toBe(true);
    },
  );
});

describe("a paused leader", () => {
  test("that resumes after its successor has started is never valid again", async () => {
    const standby = world.candidate("b");
    standby.run();
    await world.clock.advance(30_000);

    leaderProcess.pause();
    await world.clock.advance(LEASE_MS + 5_000);
    expect(standby.elector.isLeader).toBe(true);
    // Do not call `isValid` before it runs again, because that call itself ends a leadership that is over.
    leaderProcess.resume();
    const valid: number[] = [];
    const moments: number[] = [];
    const sample = (): void => {
      moments.push(world.clock.monotonicMs());
      if (leader.elector.isLeader) valid.push(world.clock.monotonicMs());
    };
    for (const name of ["ending", "stoppedLeading", "renewed", "standby", "newLeader"] as const) leader.elector.on(name, sample);
    const untilMs = world.clock.monotonicMs() + 60_000;
    while (await world.clock.step(untilMs)) sample();

    expect(valid).toEqual([]);
    expect(moments.length).toBeGreaterThan(100);
    expect(leader.events.all("ending")).toMatchObject([{ reason: { code: "LEASE_LOST", reason: "expired" } }]);
    expect(standby.elector.isLeader).toBe(true);
    expect(world.service.record(ELECTION)).toMatchObject({ term: 2, candidateId: "b" });
  });
});

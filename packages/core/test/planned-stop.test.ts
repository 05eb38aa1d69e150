import { Elector, MemoryLeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { ELECTION, LEASE_MS, RENEW_INTERVAL_MS } from "@leasehold/test-kit/acquisitions";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { describe, expect, test } from "vitest";
import { plannedEndMs } from "../src/election/planned-end.ts";
import { decideTiming } from "../src/election/timing.ts";
import { ElectionWorld, RETRY_PERIOD_MS, type CandidateOptions } from "./election-world.ts";

const LATENCY_MS = 10;
const RUNS = 60;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Returns a leader, and a standby that has learned the leader's renewal times. */
async function pair(seed: number, options: CandidateOptions = {}) {
  const world = new ElectionWorld(seed);
  const leader = world.candidate("leader", { latencyMs: LATENCY_MS, ...options });
  const leading = leader.run();
  await world.clock.advance(1_000 + world.clock.random() * RENEW_INTERVAL_MS);
  const standby = world.candidate("standby", { latencyMs: LATENCY_MS });
  const waiting = standby.run();
  await world.clock.advance(MINUTE_MS);
  return { world, leader, leading, standby, waiting };
}

describe("a planned stop", () => {
  test("leaves the election without a leader for 200 ms in the median, and costs standbys nothing", async () => {
    const vacantMs: number[] = [];
    const looksPerHour: number[] = [];
    for (let seed = 1; seed <= RUNS; seed += 1) {
      const { world, leader, standby, waiting } = await pair(seed);
      const before = world.service.count("standby");
      const countedMs = 5 * MINUTE_MS + world.clock.random() * RENEW_INTERVAL_MS;
      await world.clock.advance(countedMs);
      looksPerHour.push(((world.service.count("standby") - before) * HOUR_MS) / countedMs);

      const fromMs = world.clock.monotonicMs();
      await world.clock.runUntil(leader.elector.stop({ planned: true }));
      expect(world.clock.monotonicMs() - fromMs).toBeLessThan(RETRY_PERIOD_MS);
      await world.clock.advance(RETRY_PERIOD_MS);
      vacantMs.push(standby.events.timesMs("startedLeading")[0]! - leader.events.timesMs("ending")[0]!);
      waiting.stop();
      await world.clock.runUntil(waiting.settled);
    }
    vacantMs.sort((a, b) => a - b);
    expect(vacantMs[RUNS / 2]).toBeLessThan(200);
    expect(vacantMs.at(-1)).toBeLessThan(250);
    expect(Math.max(...looksPerHour)).toBeLessThanOrEqual(2_300);
  });

  test("lets the task go on meanwhile, until the caller's signal aborts or the term ends", async () => {
    for (const end of ["abort", "resign"] as const) {
      const { world, leader, leading, waiting } = await pair(1);
      // Right after a poll, so the next one is far away.
      const sinceTickMs = (world.clock.monotonicMs() - leader.events.timesMs("startedLeading")[0]!) % RENEW_INTERVAL_MS;
      await world.clock.advance(RENEW_INTERVAL_MS - sinceTickMs + 200);
      const stopping = leader.elector.stop({ planned: true });
      await world.clock.advance(1_000);
      expect(leader.elector.health()).toMatchObject({ state: "leading", leading: true });

      if (end === "abort") leading.stop();
      else void leader.elector.resign();
      await world.clock.advance(2 * LATENCY_MS);
      expect(leader.elector.health().leading).toBe(false);
      await world.clock.runUntil(Promise.all([stopping, leading.settled]));
      waiting.stop();
      await world.clock.runUntil(waiting.settled);
    }
  });

  test("ends at once if nothing is released, renewals follow no grid, or the store pushes", async () => {
    for (const options of [{ releaseOnStop: false }, { renewal: "manual" as const }]) {
      const world = new ElectionWorld();
      const { elector } = world.candidate("a", options);
      const running = elector.run(untilAborted);
      await world.clock.advance(1_000);
      await Promise.all([elector.stop({ planned: true }), running]);
    }
    const clock = new VirtualClock(1);
    const elector = new Elector({ store: new MemoryLeaseStore({ clock }), election: ELECTION });
    const running = elector.run(untilAborted);
    await clock.advance(1_000);
    await Promise.all([elector.stop({ planned: true }), running]);
  });
});

test("on a service that ends leases, standbys poll after each instant at which a lease may have expired", () => {
  const { capabilities } = new MemoryLeaseStore();
  const polled = { ...capabilities, watch: "poll", expiry: "native" } as const;
  const timing = decideTiming({ leaseDurationMs: LEASE_MS, renewIntervalMs: 4_000 });
  const grantedAt = { monotonicMs: 1_000, wallMs: 0 };
  // Renewals are at 1, 5, 9 s and so on, so the lease may end at 16, 20, 24 s. One poll lies between any two of these.
  expect(plannedEndMs(16_300, grantedAt, timing, polled)).toBe(1_600);
  expect(plannedEndMs(18_300, grantedAt, timing, polled)).toBe(1_600);
  expect(plannedEndMs(19_950, grantedAt, timing, polled)).toBe(0);
});

import { describe, expect, test } from "vitest";
import { LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld } from "./election-world.ts";
import { ProcessClock } from "@leasehold/core/testing";

const RUNS = 240;
const FIRST_MINUTE_MS = 60_000;
const STEADY_MS = 300_000;
const LATENCY_MS = 10;
const HOUR_MS = 3_600_000;
/**
 * A standby that polls blindly once a second scores 3,600: a second of failover at worst, times 3,600 requests an hour. The
 * target is a tenth of that.
 */
const TARGET = 360;

interface Measured {
  /** The time from the expiry of a crashed leader's lease to the standby's start. */
  readonly failoverMs: number;
  readonly looksPerHour: number;
}

/** Runs one leader and one standby. The leader crashes at a random moment after more than five quiet minutes. */
async function crash(seed: number): Promise<Measured> {
  const world = new ElectionWorld(seed);
  const process = new ProcessClock(world.clock);
  const leader = world.candidate("leader", { clock: process, latencyMs: LATENCY_MS });
  leader.run();
  await world.clock.advance(1_000 + world.clock.random() * 10_000);
  const standby = world.candidate("standby", { latencyMs: LATENCY_MS });
  const run = standby.run();
  await world.clock.advance(FIRST_MINUTE_MS);
  const looksBefore = world.service.count("standby");
  const steadyMs = STEADY_MS + world.clock.random() * FIRST_MINUTE_MS;

  await world.clock.advance(steadyMs);
  const looks = world.service.count("standby") - looksBefore;
  process.kill();
  const lastSentMs = world.service.log.findLast(
    ({ candidate, operation }) => candidate === "leader" && operation === "put",
  )!.sentMs;
  await world.clock.advance(2 * LEASE_MS);

  const [startedMs] = standby.events.timesMs("startedLeading");
  run.stop();
  await world.clock.runUntil(run.settled);
  return { failoverMs: startedMs! - lastSentMs - LEASE_MS, looksPerHour: (looks * HOUR_MS) / steadyMs };
}

describe("measure of merit", () => {
  test(`worst extra failover in seconds x standby requests an hour is at most ${TARGET}, over ${RUNS} crashes`, async ({
    annotate,
  }) => {
    const measured: Measured[] = [];
    for (let seed = 1; seed <= RUNS; seed += 1) measured.push(await crash(seed));

    const failoversMs = measured.map(({ failoverMs }) => failoverMs);
    const worstMs = Math.max(...failoversMs);
    const perHour = Math.max(...measured.map(({ looksPerHour }) => looksPerHour));
    const merit = (worstMs / 1_000) * perHour;
    await annotate(`${worstMs.toFixed(1)} ms at worst x ${perHour.toFixed(0)} requests an hour = ${merit.toFixed(1)}`);

    expect(Math.min(...failoversMs)).toBeGreaterThanOrEqual(0);
    expect(merit).toBeLessThanOrEqual(TARGET);
  });
});

import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS, RENEW_INTERVAL_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, RETRY_PERIOD_MS, type Candidate, type Run } from "./election-world.ts";
import { ProcessClock } from "@leasehold/core/testing";

const HOUR_MS = 3_600_000;

let world: ElectionWorld;
beforeEach(() => {
  world = new ElectionWorld();
});

/** Returns a leader in its own process, with that process's clock, which can kill it. */
async function leader(
  candidateId = "leader",
): Promise<{ readonly candidate: Candidate; readonly process: ProcessClock; readonly run: Run }> {
  const process = new ProcessClock(world.clock);
  const candidate = world.candidate(candidateId, { clock: process, latencyMs: 10 });
  const run = candidate.run();
  await world.clock.advance(1_000);
  return { candidate, process, run };
}

async function stop(...runs: readonly Run[]): Promise<void> {
  for (const run of runs) run.stop();
  await world.clock.runUntil(Promise.all(runs.map(({ settled }) => settled)));
}

describe("standbys are cheap", () => {
  test("standbys that begin at one instant soon poll at different instants", async () => {
    const { run } = await leader();
    const standbys = Array.from({ length: 10 }, (_, index) => world.candidate(`standby-${index}`, { latencyMs: 10 }));
    const runs = standbys.map((standby) => standby.run());
    await world.clock.advance(10 * RENEW_INTERVAL_MS);

    const lastMs = standbys.map(
      ({ elector }) => world.service.log.findLast(({ candidate }) => candidate === elector.candidateId)!.sentMs,
    );
    expect(new Set(lastMs).size).toBe(standbys.length);
    await stop(run, ...runs);
  });

  test("for hours standbys never write while the lease is held, and the leader sends one put per interval", async () => {
    const { run } = await leader();
    const standbys = ["b", "c"].map((name) => world.candidate(name, { latencyMs: 10 }));
    const runs = standbys.map((standby) => standby.run());
    await world.clock.advance(60_000);
    const before = world.service.log.length;

    await world.clock.advance(2 * HOUR_MS);

    const sent = world.service.log.slice(before);
    const count = (candidate: string, operation: string): number =>
      sent.filter((request) => request.candidate === candidate && request.operation === operation).length;
    expect([count("b", "put"), count("c", "put")]).toEqual([0, 0]);
    expect(count("leader", "get")).toBe(0);
    expect(count("leader", "put")).toBe((2 * HOUR_MS) / RENEW_INTERVAL_MS);
    // At least one poll every two seconds, for a fast takeover after a release. At most those and the polls on the grid of the
    // renewals.
    const perHour = count("b", "get") / 2;
    expect(perHour).toBeGreaterThanOrEqual(HOUR_MS / RETRY_PERIOD_MS);
    expect(perHour).toBeLessThanOrEqual(HOUR_MS / RETRY_PERIOD_MS + HOUR_MS / RENEW_INTERVAL_MS);
    await stop(run, ...runs);
  });

  test("a takeover after a release takes at most retryPeriodMs and the requests themselves", async () => {
    const handoversMs: number[] = [];
    for (let phaseMs = 0; phaseMs < RENEW_INTERVAL_MS; phaseMs += 130) {
      world = new ElectionWorld(phaseMs + 1);
      const { run } = await leader();
      const standby = world.candidate("b", { latencyMs: 10 });
      const standbyRun = standby.run();
      await world.clock.advance(60_000 + phaseMs);

      run.stop();
      await world.clock.runUntil(run.settled);
      // The instant at which the release arrived.
      const releasedMs = world.clock.monotonicMs() - 5;
      await world.clock.advance(3 * RETRY_PERIOD_MS);
      handoversMs.push(standby.events.timesMs("startedLeading")[0]! - releasedMs);
      await stop(standbyRun);
    }

    expect(Math.max(...handoversMs)).toBeLessThanOrEqual(RETRY_PERIOD_MS + 20);
  });

  test("standbys of a vacant lease that is reserved for others poll no more often than retryPeriodMs allows", async () => {
    const { candidate, run } = await leader();
    const standby = world.candidate("b", { latencyMs: 10 });
    const standbyRun = standby.run();
    void candidate.store.transfer(ELECTION, "nobody", { transferTimeoutMs: 60_000 }).catch(() => undefined);
    await stop(run);
    const before = world.service.count("b");

    await world.clock.advance(30_000);

    expect(world.service.count("b") - before).toBeLessThanOrEqual(30_000 / (RETRY_PERIOD_MS / 2) + 1);
    await stop(standbyRun);
  });

  test("standbys of an expired lease that is reserved for others poll no more often than retryPeriodMs allows", async () => {
    const { process } = await leader();
    const standby = world.candidate("b", { latencyMs: 10 });
    const standbyRun = standby.run();
    void world
      .candidate("admin")
      .store.transfer(ELECTION, "nobody", { transferTimeoutMs: 60_000 })
      .catch(() => undefined);
    await world.clock.advance(1_000);
    process.kill();
    await world.clock.advance(2 * LEASE_MS);
    const before = world.service.count("b");

    await world.clock.advance(10_000);

    expect(world.service.count("b") - before).toBeLessThanOrEqual(10_000 / (RETRY_PERIOD_MS / 2) + 1);
    await stop(standbyRun);
  });

  test("a candidate in its cooldown whose own lease has expired polls no more often than retryPeriodMs allows", async () => {
    const a = world.candidate("a", { latencyMs: 10, cooldownMs: 60_000, releaseOnStop: false });
    const run = a.run();
    await world.clock.advance(1_000);
    // The release is lost, so the lease must expire.
    a.records.failAll({ kind: "unavailable" });
    const resigning = a.elector.resign();
    await world.clock.runUntil(resigning);
    a.records.heal();
    await world.clock.advance(2 * LEASE_MS);
    const before = world.service.count("a");

    await world.clock.advance(10_000);

    expect(world.service.count("a") - before).toBeLessThanOrEqual(10_000 / (RETRY_PERIOD_MS / 2) + 1);
    await stop(run);
  });
});

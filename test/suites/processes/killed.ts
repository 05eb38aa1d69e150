import { setTimeout as delay } from "node:timers/promises";
import { describe, expect } from "vitest";
import { test } from "./test.ts";
import { LEASE_MS, RENEW_INTERVAL_MS, RETRY_PERIOD_MS, ROUND_TRIPS_MS } from "./timing.ts";

describe.concurrent("a leader that is killed", () => {
  test.for([0.2, 0.8])("%d of the way to its next renewal is replaced within 1.1 leases", async (phase, { scene }) => {
    const { leader, standby } = await scene.pair();
    await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });
    await delay(phase * RENEW_INTERVAL_MS);

    leader.candidate.signal("SIGKILL");

    const takeover = await standby.candidate.said("startedLeading");
    const sinceRenewalMs = takeover.atMs - leader.candidate.last("granted").sentMs;
    expect(sinceRenewalMs).toBeGreaterThanOrEqual(LEASE_MS);
    expect(sinceRenewalMs).toBeLessThanOrEqual(1.1 * LEASE_MS);
    expect(leader.candidate.last("exited")).toMatchObject({ signal: "SIGKILL" });
    expect(scene.worstOverlapMs).toBeLessThanOrEqual(0);
  });
});

describe.concurrent("a leader that is told to end by SIGTERM", () => {
  // One that needs no renewal to drain, and one that does.
  test.for([300, RENEW_INTERVAL_MS + 1_000])(
    "drains for %d ms, and is replaced within a retry period",
    async (drainMs, { scene }) => {
      const { leader, standby } = await scene.pair({ task: { drainMs } });
      await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });

      leader.candidate.signal("SIGTERM");

      const drained = await leader.candidate.said("taskSettled");
      const takeover = await standby.candidate.said("startedLeading");
      const ended = await leader.candidate.said("exited");
      const aborted = leader.candidate.last("aborted");
      expect(drained.atMs - aborted.atMs).toBeGreaterThanOrEqual(drainMs - 1);
      expect(drained.valid).toBe(true);
      const renewals = leader.candidate.all("granted").filter(({ sentMs }) => sentMs > aborted.atMs);
      expect(renewals.length).toBeGreaterThanOrEqual(Math.floor(drainMs / RENEW_INTERVAL_MS));
      expect(takeover.atMs).toBeGreaterThan(drained.atMs);
      expect(takeover.atMs - drained.atMs).toBeLessThanOrEqual(RETRY_PERIOD_MS + ROUND_TRIPS_MS);
      expect(leader.candidate.all("runSettled")).toHaveLength(1);
      expect(ended).toMatchObject({ code: 0 });
      expect(scene.worstOverlapMs).toBeLessThanOrEqual(0);
    },
  );
});

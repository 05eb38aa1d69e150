import { setTimeout as delay } from "node:timers/promises";
import { describe, expect } from "vitest";
import { test } from "./test.ts";
import { READING_MS, RENEW_DEADLINE_MS, RENEW_INTERVAL_MS, TIMER_LATENESS_MS, VALID_FOR_MS } from "./timing.ts";

describe.concurrent("a leader that is cut off for ever", () => {
  test.for([0.05, 0.5, 0.95])("%d of the way to its next renewal stops in time", async (phase, { scene }) => {
    const { leader, standby } = await scene.pair({ task: { drainMs: 10_000 } });
    await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });
    await delay(phase * RENEW_INTERVAL_MS);

    leader.proxy.partition(true);

    const { lastUnabortedMs } = await leader.candidate.said("aborted");
    const { lastValidMs } = await leader.candidate.said("invalid");
    await standby.candidate.said("startedLeading");
    const { sentMs } = leader.candidate.last("granted");
    expect(lastUnabortedMs - sentMs).toBeLessThanOrEqual(RENEW_DEADLINE_MS + TIMER_LATENESS_MS);
    expect(lastValidMs - sentMs).toBeLessThanOrEqual(VALID_FOR_MS + READING_MS);
    expect(scene.worstOverlapMs).toBeLessThanOrEqual(0);
  });
});

describe.concurrent("a leader whose renewals hang for ever", () => {
  test.for(["request", "reply"] as const)("tells its task by the renew deadline (the %s is lost)", async (side, { scene }) => {
    const { leader, standby } = await scene.pair({ asks: false });
    await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });

    leader.proxy.rule = ({ name }) => (name === "lease:renew" ? { kind: "black-hole", side } : undefined);

    const { atMs, lastUnabortedMs, code } = await leader.candidate.said("aborted");
    const { sentMs } = leader.candidate.last("granted");
    expect(code).toBe("LEASE_LOST");
    expect(atMs - sentMs).toBeGreaterThan(RENEW_DEADLINE_MS - TIMER_LATENESS_MS);
    expect(lastUnabortedMs - sentMs).toBeLessThanOrEqual(RENEW_DEADLINE_MS + TIMER_LATENESS_MS);
    const settled = await leader.candidate.said("taskSettled");
    const takeover = await standby.candidate.said("startedLeading");
    expect(takeover.atMs).toBeGreaterThan(settled.atMs);
  });
});

import { describe, expect } from "vitest";
import { test, TIME_LIMIT_MS } from "./test.ts";
import { READING_MS, RENEW_DEADLINE_MS, TIMER_STEP_MS, VALID_FOR_MS } from "./timing.ts";

// The unit tests and the simulation cut a leader off at every point of its renewals. These two use the timers of a real process.

describe.concurrent("a leader that is cut off for ever", { timeout: TIME_LIMIT_MS }, () => {
  test("stops in time", async ({ scene }) => {
    const { leader, standby } = await scene.pair();
    await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });

    leader.proxy.partition(true);

    const { lastUnabortedMs } = await leader.candidate.said("aborted");
    const { lastValidMs } = await leader.candidate.said("invalid");
    await standby.candidate.said("startedLeading");
    const { sentMs } = leader.candidate.last("granted");
    expect(lastUnabortedMs - sentMs).toBeLessThanOrEqual(RENEW_DEADLINE_MS + TIMER_STEP_MS);
    expect(lastValidMs - sentMs).toBeLessThanOrEqual(VALID_FOR_MS + READING_MS);
    expect(scene.faults).toEqual([]);
  });
});

describe.concurrent("a leader whose renewals hang for ever", { timeout: TIME_LIMIT_MS }, () => {
  test("tells its task by the renew deadline, not before, and has no successor before the task has settled", async ({
    scene,
  }) => {
    const { leader, standby } = await scene.pair({ asks: false });
    await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });

    leader.proxy.rule = ({ name }) => (name === "lease:renew" ? { kind: "black-hole", side: "reply" } : undefined);

    const { atMs, lastUnabortedMs, code } = await leader.candidate.said("aborted");
    const { sentMs } = leader.candidate.last("granted");
    expect(code).toBe("LEASE_LOST");
    expect(atMs - sentMs).toBeGreaterThanOrEqual(RENEW_DEADLINE_MS - TIMER_STEP_MS);
    expect(lastUnabortedMs - sentMs).toBeLessThanOrEqual(RENEW_DEADLINE_MS + TIMER_STEP_MS);
    const settled = await leader.candidate.said("taskSettled");
    const takeover = await standby.candidate.said("startedLeading");
    expect(takeover.atMs).toBeGreaterThan(settled.atMs);
  });
});

import { setTimeout as delay } from "node:timers/promises";
import { describe, expect } from "vitest";
import { test } from "./test.ts";
import { LEASE_MS, TIMER_LATENESS_MS } from "./timing.ts";

const FREEZE_MS = 2 * LEASE_MS;

describe.concurrent("a leader that is stopped for two leases (SIGSTOP) and then goes on (SIGCONT)", () => {
  test.for([
    { path: "reachable", asks: true },
    { path: "reachable", asks: false },
    { path: "black-holed", asks: true },
    { path: "black-holed", asks: false },
  ])("knows at once that it does not lead (store $path, it asks: $asks)", async ({ path, asks }, { scene }) => {
    const { leader, standby } = await scene.pair({ asks, guards: true });
    await leader.candidate.said("wrote");
    await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });

    await leader.candidate.freeze();
    await Promise.all([delay(FREEZE_MS), standby.candidate.said("wrote")]);
    leader.proxy.partition(path === "black-holed");
    leader.candidate.thaw();

    const thawed = await leader.candidate.said("thawed");
    const { lastUnabortedMs, code } = await leader.candidate.said("aborted");
    if (asks) expect(thawed.valid).toBe(false);
    expect(lastUnabortedMs - thawed.atMs).toBeLessThan(TIMER_LATENESS_MS);
    expect(code).toBe("LEASE_LOST");

    // What was still on its way in the leader when it froze: only the fence can stop that.
    leader.proxy.partition(false);
    leader.candidate.obey({ kind: "write" });
    await expect(leader.candidate.said("wrote", { after: thawed })).resolves.toMatchObject({ outcome: "refused" });
    await expect(scene.guardedContent()).resolves.toBe(standby.candidate.candidateId);
    expect(leader.candidate.all("startedLeading")).toHaveLength(1);
    if (asks) expect(scene.worstOverlapMs).toBeLessThanOrEqual(0);
  });
});

describe.concurrent("a leader whose task blocks its event loop for two leases", () => {
  test("knows it in the next statement", async ({ scene }) => {
    const { leader, standby } = await scene.pair();
    await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });

    leader.candidate.obey({ kind: "block", ms: FREEZE_MS });

    await expect(leader.candidate.said("unblocked")).resolves.toMatchObject({ valid: false, aborted: true });
    await leader.candidate.said("invalid");
    expect(standby.candidate.all("startedLeading")).toHaveLength(1);
    expect(scene.worstOverlapMs).toBeLessThanOrEqual(0);
  });
});

import { describe, expect } from "vitest";
import { test, TIME_LIMIT_MS } from "./test.ts";
import { LEASE_MS } from "./timing.ts";

describe.concurrent("a leader that is killed", { timeout: TIME_LIMIT_MS }, () => {
  test("is replaced once its lease has run out, and not before", async ({ scene }) => {
    const { leader, standby } = await scene.pair();
    await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });

    leader.candidate.signal("SIGKILL");

    await expect(leader.candidate.said("exited")).resolves.toMatchObject({ signal: "SIGKILL" });
    const takeover = await standby.candidate.said("startedLeading");
    expect(takeover.atMs - leader.candidate.last("granted").sentMs).toBeGreaterThanOrEqual(LEASE_MS);
    expect(scene.faults).toEqual([]);
  });
});

describe.concurrent("a leader that is told to end by SIGTERM", { timeout: TIME_LIMIT_MS }, () => {
  test("renews while its task drains, releases its lease then, and is replaced", async ({ scene }) => {
    const { leader, standby } = await scene.pair({ task: "ignores-its-signal" });
    await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });

    leader.candidate.signal("SIGTERM");

    const aborted = await leader.candidate.said("aborted");
    await leader.candidate.said("granted", { after: aborted, where: ({ by }) => by === "renew" });
    leader.candidate.obey({ kind: "settle" });
    const drained = await leader.candidate.said("taskSettled");
    expect(drained.valid).toBe(true);
    await expect(leader.candidate.said("stoppedLeading")).resolves.toMatchObject({ released: true });
    const takeover = await standby.candidate.said("startedLeading");
    expect(takeover.atMs).toBeGreaterThan(drained.atMs);
    await expect(leader.candidate.said("exited")).resolves.toMatchObject({ code: 0 });
    expect(leader.candidate.all("runSettled")).toHaveLength(1);
    expect(scene.faults).toEqual([]);
  });
});

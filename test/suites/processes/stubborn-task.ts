import { OVERRUN_EXIT_CODE } from "@leasehold/core";
import { describe, expect } from "vitest";
import { test } from "./test.ts";
import { LEASE_MS } from "./timing.ts";

describe.concurrent("a leader that is cut off and whose task ignores its signal", () => {
  test("ends its process before anybody else leads (onOverrun: 'exit')", async ({ scene }) => {
    const { leader, standby } = await scene.pair({ task: "ignores-its-signal", elector: { onOverrun: "exit" } });

    leader.proxy.partition(true);

    const exited = await leader.candidate.said("exited");
    expect(exited).toMatchObject({ code: OVERRUN_EXIT_CODE });
    expect(leader.candidate.all("overrun")).toHaveLength(1);
    expect(leader.candidate.stderr).toContain("ending this process");
    expect(exited.atMs - leader.candidate.last("granted").sentMs).toBeLessThan(LEASE_MS);
    const takeover = await standby.candidate.said("startedLeading");
    expect(takeover.atMs).toBeGreaterThan(exited.atMs);
  });

  test("does not lead again before that task has settled (onOverrun: 'report')", async ({ scene }) => {
    const { leader, standby } = await scene.pair({ task: "ignores-its-signal", elector: { drainTimeoutMs: 3_000 } });

    leader.proxy.partition(true);
    await leader.candidate.said("overrun");
    const first = await standby.candidate.said("startedLeading");
    leader.proxy.partition(false);

    // The other one gives up its term and stands back: the election is free, and nobody but the first leader might take it.
    standby.candidate.obey({ kind: "resign" });
    standby.candidate.obey({ kind: "settle" });
    await standby.candidate.said("startedLeading", { after: first });
    expect(leader.candidate.all("taskStarted")).toHaveLength(1);
    expect(leader.candidate.all("standby")).toHaveLength(1);

    leader.candidate.obey({ kind: "settle" });
    const settled = await leader.candidate.said("taskSettled");
    const standing = await leader.candidate.said("standby", { after: settled });
    standby.candidate.obey({ kind: "stop" });
    standby.candidate.obey({ kind: "settle" });
    await leader.candidate.said("taskStarted", { after: standing });
    expect(leader.candidate.all("exited")).toHaveLength(0);
    expect(leader.candidate.all("overrun")).toHaveLength(1);
    expect(scene.worstOverlapMs).toBeLessThanOrEqual(0);
  });
});

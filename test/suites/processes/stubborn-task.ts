import { OVERRUN_EXIT_CODE } from "@leasehold/core/diagnostics";
import { describe, expect } from "vitest";
import { test, TIME_LIMIT_MS } from "./test.ts";

/** Short, so that the process ends at two thirds of the lease, soon after the renew deadline. */
const DRAIN_TIMEOUT_MS = 500;

describe.concurrent("a leader that is cut off and whose task ignores its signal", { timeout: TIME_LIMIT_MS }, () => {
  test("ends its process before another one leads (onOverrun: 'exit')", async ({ scene }) => {
    const { leader, standby } = await scene.pair({
      task: "ignores-its-signal",
      elector: { onOverrun: "exit", drainTimeoutMs: DRAIN_TIMEOUT_MS },
    });

    leader.proxy.partition(true);

    const exited = await leader.candidate.said("exited");
    expect(exited).toMatchObject({ code: OVERRUN_EXIT_CODE });
    expect(leader.candidate.all("overrun")).toHaveLength(1);
    expect(leader.candidate.stderr).toContain("ending this process");
    const takeover = await standby.candidate.said("startedLeading");
    expect(takeover.atMs).toBeGreaterThan(exited.atMs);
  });
});

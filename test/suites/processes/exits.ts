import { describe, expect } from "vitest";
import type { CandidateProcess } from "@leasehold/test-kit/candidates/candidate-process";
import { test, TIME_LIMIT_MS } from "./test.ts";

// No test ends these processes. They end because nothing of Leasehold's keeps them alive.
describe.concurrent("a process whose elector has stopped", { timeout: TIME_LIMIT_MS }, () => {
  test("ends by itself, after leading or standing by", async ({ scene }) => {
    const { leader, standby } = await scene.pair();
    await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });

    for (const { candidate } of [standby, leader]) await endsByItself(candidate);
  });

  test("ends by itself while the store is out of reach", async ({ scene }) => {
    const { leader, standby } = await scene.pair();

    for (const { proxy } of [leader, standby]) proxy.partition(true);
    // A poll and a renewal hang.
    await standby.proxy.waitFor(({ name, answeredMs }) => name === "head" && answeredMs === undefined);
    await leader.proxy.waitFor(({ name, answeredMs }) => name === "lease:renew" && answeredMs === undefined);

    for (const { candidate } of [standby, leader]) await endsByItself(candidate);
  });
});

/** Stops a candidate's elector, and nothing else of its process. */
async function endsByItself(candidate: CandidateProcess): Promise<void> {
  candidate.obey({ kind: "stop" });
  await candidate.said("runSettled");
  await expect(candidate.said("idle")).resolves.toMatchObject({ keptAliveBy: [] });
  await expect(candidate.said("exited")).resolves.toMatchObject({ code: 0 });
}

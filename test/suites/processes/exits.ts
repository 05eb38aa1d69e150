import { describe, expect } from "vitest";
import type { CandidateProcess } from "@leasehold/test-kit/candidates/candidate-process";
import { test } from "./test.ts";

/** Nobody ends these processes: they end because nothing of ours is left that keeps them alive. */
const SOON_MS = 5_000;

describe.concurrent("a process whose elector has stopped", () => {
  test("ends by itself, after leading or standing by", async ({ scene }) => {
    const { leader, standby } = await scene.pair();
    await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });

    for (const { candidate } of [standby, leader]) await endsSoon(candidate);
  });

  test("ends by itself while the store is out of reach", async ({ scene }) => {
    const { leader, standby } = await scene.pair();

    for (const { proxy } of [leader, standby]) proxy.partition(true);
    // A look and a renewal hang.
    await standby.proxy.waitFor(({ name, answeredMs }) => name === "head" && answeredMs === undefined);
    await leader.proxy.waitFor(({ name, answeredMs }) => name === "lease:renew" && answeredMs === undefined);

    for (const { candidate } of [standby, leader]) await endsSoon(candidate);
  });
});

/** Stops a candidate's elector, and nothing else of its process. */
async function endsSoon(candidate: CandidateProcess): Promise<void> {
  candidate.obey({ kind: "stop" });
  const settled = await candidate.said("runSettled");
  const exited = await candidate.said("exited");
  expect(exited).toMatchObject({ code: 0 });
  expect(exited.atMs - settled.atMs).toBeLessThan(SOON_MS);
}

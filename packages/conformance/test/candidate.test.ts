import { MemoryLeaseStore } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { ProcessClock, VirtualClock } from "@leasehold/core/testing";
import { expect, it } from "vitest";
import { Candidate, type Arena } from "../src/candidate.ts";

const clock = new VirtualClock();
const arena: Arena = {
  clock,
  timing: { election: "e", leaseDurationMs: 15_000, retryPeriodMs: 2_000 },
  started: () => undefined,
};

it("stop() of a candidate does not resolve before its lease is released", async () => {
  const store = new MemoryLeaseStore({ clock });
  const release = store.release.bind(store);
  store.release = async (...args) => {
    await sleep(clock, 500);
    return await release(...args);
  };
  const candidate = new Candidate(arena, "a", store, {});
  await clock.advance(1_000);
  expect(candidate.leads).toBe(true);
  let hasStopped = false;
  const stopping = candidate.stop().then(() => (hasStopped = true));

  await clock.advance(499);
  expect(hasStopped).toBe(false);
  await clock.advance(1);
  await stopping;
  expect(candidate.releases).toEqual([true]);
  candidate.assertRuns();
});

it("a candidate whose campaign has ended with an error throws that error, and can be stopped", async () => {
  const store = new MemoryLeaseStore({ clock });
  const failing = { ...arena, started: () => expect.fail("the case failed") };
  const candidate = new Candidate(failing, "a", store, {});
  await clock.advance(1_000);

  expect(() => candidate.assertRuns()).toThrow("the case failed");
  await clock.runUntil(candidate.stop());
});

it("a candidate whose machine is suspended does not lead, and its last leadership is the one that counts", async () => {
  const own = new ProcessClock(clock);
  const candidate = new Candidate(arena, "a", new MemoryLeaseStore({ clock: own }), { clock: own });
  expect(() => candidate.leadership).toThrow("'a' has never led");
  await clock.advance(1_000);
  candidate.suspend();
  expect(candidate.leads).toBe(false);
  await clock.advance(1_000);
  candidate.resume();
  await clock.advance(60_000);
  expect([candidate.leads, candidate.leadership.term]).toEqual([true, 1]);

  await clock.runUntil(candidate.elector.resign());
  await clock.advance(60_000);

  expect([candidate.leads, candidate.leadership.term]).toEqual([true, 2]);
  await clock.runUntil(candidate.stop());
});

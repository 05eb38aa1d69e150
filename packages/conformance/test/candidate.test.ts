import { MemoryLeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, it } from "vitest";
import { Candidate, type Arena } from "../src/candidate.ts";

const clock = new VirtualClock();
const arena: Arena = {
  clock,
  timing: { election: "e", leaseDurationMs: 15_000, retryPeriodMs: 2_000 },
  started: () => undefined,
};

it("a candidate that is told to stop has released its lease, or left it to run out, once it has stopped", async () => {
  const store = new MemoryLeaseStore({ clock });
  const candidate = new Candidate(arena, "a", store, {});
  await clock.advance(1_000);
  expect(candidate.leads).toBe(true);

  await clock.runUntil(candidate.stop());

  expect(candidate.releases).toEqual([true]);
  candidate.assertRuns();
});

it("a candidate whose campaign has ended by itself says by what, and can be told to stop", async () => {
  const store = new MemoryLeaseStore({ clock });
  const failing = { ...arena, started: () => expect.fail("the case failed") };
  const candidate = new Candidate(failing, "a", store, {});
  await clock.advance(1_000);

  expect(() => candidate.assertRuns()).toThrow("the case failed");
  await clock.runUntil(candidate.stop());
});

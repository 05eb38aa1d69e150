import { MemoryLeaseStore, StoreError } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { StoreHealth } from "../src/election/store-health.ts";

const failure = (code: "STORE_DENIED" | "STORE_UNAVAILABLE"): StoreError =>
  new StoreError(code, "no.", { store: "memory", operation: "put", election: "e", mayHaveBeenApplied: false });

test.each<[string, (health: StoreHealth) => void, number | undefined]>([
  ["goes on after another refusal", (health) => health.failed("write", failure("STORE_DENIED")), 1_000],
  ["goes on after a read that succeeds", (health) => health.answered("read"), 1_000],
  ["ends with a write that succeeds", (health) => health.answered("write"), undefined],
  ["ends with an outage", (health) => health.failed("read", failure("STORE_UNAVAILABLE")), undefined],
  ["ends with the call", (health) => health.end(), undefined],
])("the time of refusals %s", async (_, then, refusedMs) => {
  const clock = new VirtualClock();
  const health = new StoreHealth(new MemoryLeaseStore({ clock }), "e", clock);
  health.failed("read", failure("STORE_DENIED"));
  await clock.advance(1_000);
  expect(health.refusedMs).toBe(1_000);

  then(health);
  expect(health.refusedMs).toBe(refusedMs);
});

import { BlobLeaseStore } from "@leasehold/azure-blob";
import { Elector, LeaseLostError } from "@leasehold/core";
import { expect } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { onlyFor } from "@leasehold/test-kit/faults/fault-proxy";
import { test } from "./world-test.ts";

test("with the system's own clock, a renewal that hangs for ever aborts the task's signal by the renew deadline", async ({
  world,
}) => {
  const store = new BlobLeaseStore({ container: world.proxied, createContainer: true });
  const elector = new Elector({ store, election: ELECTION, leaseDurationMs: LEASE_MS });
  world.listen(elector);
  const startMs = performance.now();
  await using leadership = await elector.campaign();
  world.proxy.rule = onlyFor("lease:renew", { kind: "black-hole", side: "request" });

  await new Promise((resolve) => leadership.signal.addEventListener("abort", resolve));
  const tookMs = performance.now() - startMs;

  expect(leadership.signal.reason).toBeInstanceOf(LeaseLostError);
  expect(leadership.signal.reason).toMatchObject({ reason: "renew-deadline" });
  // Counted from before the acquisition was sent, which took a moment.
  expect(tookMs).toBeGreaterThan(9_900);
  expect(tookMs).toBeLessThan(12_000);
  // The lease still stands, so that there is time to stop.
  expect(leadership.isValid()).toBe(true);
  expect(world.requests.filter(({ name }) => name === "lease:renew").length).toBeGreaterThanOrEqual(2);
});

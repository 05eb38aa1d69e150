import assert from "node:assert/strict";
import type { LeaseStore } from "@leasehold/core";

/** Makes a process one that has been at work: it has led once, and its connections are open. */
export async function warmUp(store: LeaseStore, election = "warm-up"): Promise<void> {
  const outcome = await store.acquire({
    election,
    candidateId: "warm-up",
    leaseDurationMs: 30_000,
    renewIntervalMs: 10_000,
    timeoutMs: 10_000,
  });
  assert.ok(outcome.acquired, "nobody competes for it");
  await store.release(outcome.lease, { timeoutMs: 10_000 });
}

import type { LeaseStore } from "@leasehold/core";
import { win } from "../acquisitions.ts";

const LIMITS = { timeoutMs: 10_000 };

/** Warms a process up: it has led once, and its connections are open. */
export async function warmUp(store: LeaseStore, election = "warm-up"): Promise<void> {
  await store.release(await win(store, { election, ...LIMITS }), LIMITS);
}

import type { LeaseStore } from "@leasehold/core";
import { win } from "../acquisitions.ts";

const LIMITS = { timeoutMs: 10_000 };

/** Makes a process one that has been at work: it has led once, and its connections are open. */
export async function warmUp(store: LeaseStore, election = "warm-up"): Promise<void> {
  await store.release(await win(store, { election, ...LIMITS }), LIMITS);
}

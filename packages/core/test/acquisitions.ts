import type { LeaseStore } from "@leasehold/core";
import type { AcquireRequest, Lease } from "@leasehold/core/provider";
import { ELECTION, LEASE_MS, RENEW_INTERVAL_MS } from "./election-world.ts";

/** How long the tests give each request. */
export const LIMITS = { timeoutMs: 1_000 } as const;

/** An acquisition as an elector with the defaults asks for it. */
export function acquiring(candidateId: string, overrides: Partial<AcquireRequest> = {}): AcquireRequest {
  return {
    election: ELECTION,
    candidateId,
    leaseDurationMs: LEASE_MS,
    renewIntervalMs: RENEW_INTERVAL_MS,
    ...LIMITS,
    ...overrides,
  };
}

/** Acquires where that must succeed. */
export async function win(store: LeaseStore, candidateId: string, overrides: Partial<AcquireRequest> = {}): Promise<Lease> {
  const outcome = await store.acquire(acquiring(candidateId, overrides));
  if (!outcome.acquired) throw new Error(`'${candidateId}' did not acquire: ${JSON.stringify(outcome.current)}`);
  return outcome.lease;
}

import type { LeaseStore } from "@leasehold/core";
import type { AcquireRequest, Lease } from "@leasehold/core/provider";

/** The election of tests that do not name another one. */
export const ELECTION = "nightly-billing";
/** The default lease, which is also the shortest of Azure. */
export const LEASE_MS = 15_000;
/** The renew interval that follows from `LEASE_MS`. */
export const RENEW_INTERVAL_MS = 5_000;
/** The time of a request in tests that do not test this time. */
export const LIMITS = { timeoutMs: 5_000 } as const;

/** Returns a request to acquire, as an elector with the defaults makes it. */
export function acquiring(options: Partial<AcquireRequest> = {}): AcquireRequest {
  return {
    election: ELECTION,
    candidateId: "a",
    leaseDurationMs: LEASE_MS,
    renewIntervalMs: RENEW_INTERVAL_MS,
    ...LIMITS,
    ...options,
  };
}

/** Acquires. @throws if that does not succeed. */
export async function win(store: LeaseStore, options: Partial<AcquireRequest> = {}): Promise<Lease> {
  const outcome = await store.acquire(acquiring(options));
  if (!outcome.acquired) throw new Error(`The lease was not acquired: ${JSON.stringify(outcome)}.`);
  return outcome.lease;
}

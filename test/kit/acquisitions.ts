import type { LeaseStore } from "@leasehold/core";
import type { AcquireRequest, Lease } from "@leasehold/core/provider";

/** The election that candidates compete in where a test does not name another one. */
export const ELECTION = "nightly-billing";
/** The default lease, which is also the shortest that Azure gives. */
export const LEASE_MS = 15_000;
/** What follows from it. */
export const RENEW_INTERVAL_MS = 5_000;
/** How long a request may take where that is not what is tested. */
export const LIMITS = { timeoutMs: 5_000 } as const;

/** An acquisition as an elector with the defaults asks for it. */
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

/** Acquires, which must succeed. */
export async function win(store: LeaseStore, options: Partial<AcquireRequest> = {}): Promise<Lease> {
  const outcome = await store.acquire(acquiring(options));
  if (!outcome.acquired) throw new Error(`The lease was not acquired: ${JSON.stringify(outcome)}.`);
  return outcome.lease;
}

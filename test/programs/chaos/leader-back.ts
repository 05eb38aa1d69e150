import type { TimingReport } from "@leasehold/core";
import type { StoreName } from "@leasehold/test-kit/stores/stores";
import { LONGEST_DELAY } from "./plan.ts";

/** How long a task continues at most after its signal has aborted, in leases. */
export const STUBBORN = 0.4;
/** How long a database keeps the transaction of a client that is gone, and with it the lock of the fence. */
const ABANDONED_TRANSACTION_MS = 1_000;

/**
 * Returns how long an election takes at most, on an idle machine, to have a leader again. The time counts from when all faults
 * are over and every worker runs again. The first part is the time for the rest of what the faults delayed. The last renewal may
 * arrive at its end. The second part is the time that `timing()` promises after that renewal. Chaos prints this bound beside the
 * measured time. The simulation fails an election that exceeds it in virtual time.
 */
export function leaderBackMs(store: StoreName, timing: TimingReport): number {
  const { leaseDurationMs, attemptTimeoutMs, retryPeriodMs, crashFailoverMs } = timing;
  return (
    // The data that a slow network still holds, in both directions.
    2 * LONGEST_DELAY * leaseDurationMs +
    // A lost poll, and the pause after it.
    attemptTimeoutMs +
    retryPeriodMs +
    // A task that drains, under a lease that is still renewed.
    STUBBORN * leaseDurationMs +
    (store === "mysql" || store === "postgres" ? ABANDONED_TRANSACTION_MS : 0) +
    // A server that was started again does not vote for as long as the lease that it may have granted before.
    (store === "voting" ? leaseDurationMs : 0) +
    crashFailoverMs
  );
}

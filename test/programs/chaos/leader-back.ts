import type { TimingReport } from "@leasehold/core";
import type { StoreName } from "@leasehold/test-kit/stores/stores";
import { LONGEST_DELAY } from "./plan.ts";

/** How long a task goes on at most once its signal has aborted, in leases. It is part of the bound. */
export const STUBBORN = 0.4;
/** For how long a database keeps the transaction of a client that is gone, and with it the lock of the fence. */
const ABANDONED_TRANSACTION_MS = 1_000;
/**
 * For the machine, which runs six processes of the election and whatever else there is on its processors: timers that are
 * late, and first requests of processes that have just started.
 */
const MACHINE_MS = 5_000;

/**
 * How long an election may take to have a leader again, once all faults are over and whoever has ended has been started
 * again: what `timing()` promises after the last renewal, which may have been delivered at that very moment, and before it
 * what may still be under way from the time of the faults.
 */
export function leaderBackMs(store: StoreName, timing: TimingReport): number {
  const { leaseDurationMs, attemptTimeoutMs, retryPeriodMs, crashFailoverMs } = timing;
  return (
    // What a slow network still keeps, in both directions.
    2 * LONGEST_DELAY * leaseDurationMs +
    // A look that has been lost, and the pause after it.
    attemptTimeoutMs +
    retryPeriodMs +
    // A task that drains, under a lease that is still renewed.
    STUBBORN * leaseDurationMs +
    (store === "mysql" || store === "postgres" ? ABANDONED_TRANSACTION_MS : 0) +
    // A server that was started again votes for nobody for as long as it may have taken a lease before.
    (store === "voting" ? leaseDurationMs : 0) +
    crashFailoverMs +
    MACHINE_MS
  );
}

import type { TimingReport } from "@leasehold/core";
import type { StoreName } from "@leasehold/test-kit/stores/stores";
import { LONGEST_DELAY } from "./plan.ts";

/** How long a task goes on at most once its signal has aborted, in leases. */
export const STUBBORN = 0.4;
/** For how long a database keeps the transaction of a client that is gone, and with it the lock of the fence. */
const ABANDONED_TRANSACTION_MS = 1_000;

/**
 * How long an election takes at most to have a leader again on an idle machine, once all faults are over and every worker
 * runs again. That is what `timing()` promises after the last renewal, which may have been delivered at that very moment,
 * and before it what may still be under way from the time of the faults. Chaos reports it beside what was measured; the
 * simulation holds elections to it in virtual time.
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
    crashFailoverMs
  );
}

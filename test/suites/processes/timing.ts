import { timing } from "@leasehold/core";

/** Those of every candidate here: the defaults, at the shortest lease that Azure has. */
export const {
  leaseDurationMs: LEASE_MS,
  renewIntervalMs: RENEW_INTERVAL_MS,
  renewDeadlineMs: RENEW_DEADLINE_MS,
  validForMs: VALID_FOR_MS,
  retryPeriodMs: RETRY_PERIOD_MS,
} = timing({ leaseDurationMs: 15_000 });

/**
 * What a look, an acquisition and the write of its term may take on a busy machine: much less than the lease that would pass if
 * nobody had been told.
 */
export const ROUND_TRIPS_MS = 2_000;
/** How late a timer may be there: less than an attempt takes, whose end would come next. */
export const TIMER_LATENESS_MS = 1_000;
/** The clocks of this process and of the host are read one after the other. */
export const READING_MS = 1;

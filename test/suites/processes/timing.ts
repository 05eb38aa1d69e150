import { timing } from "@leasehold/core";

/**
 * The timing of every candidate here: the defaults, with Azure's shortest lease. A leader that has just renewed keeps its lease
 * through a stall of 5 s.
 */
export const {
  leaseDurationMs: LEASE_MS,
  renewIntervalMs: RENEW_INTERVAL_MS,
  renewDeadlineMs: RENEW_DEADLINE_MS,
  validForMs: VALID_FOR_MS,
} = timing({ leaseDurationMs: 15_000 });

/** Node's timers count whole milliseconds, and round up. */
export const TIMER_STEP_MS = 3;
/** The clocks of this process and of the host are read one after the other. */
export const READING_MS = 1;

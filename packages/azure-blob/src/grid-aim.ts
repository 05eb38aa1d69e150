import type { Clock } from "@leasehold/core";
import type { ServiceClock } from "@leasehold/core/provider";
import type { Grid } from "./schema.ts";

/** How well a holder should know the service's clock for the grid that it publishes. */
export const SHARP_MS = 30;
/** How well a standby's looks try to know it: better, so that it is sharp still when the standby becomes the holder. */
const PROBE_TO_MS = 15;
/** How long after a possible expiry to look, for the service to have noticed it. */
const SETTLE_MS = 25;
/** Spreads standbys that aim at the same instant. */
const JITTER_MS = 20;

export interface AimOptions {
  readonly clock: Clock;
  readonly serviceClock: ServiceClock;
  readonly grid: Grid;
  readonly leaseDurationMs: number;
  readonly retryPeriodMs: number;
}

/**
 * How long to wait before the next look at a blob's lease. Renewals change nothing that can be read, but the holder
 * renews on a published grid, so its lease can run out only one lease duration after one of the grid's ticks: a standby
 * that looks just after each of those instants finds an expiry at once. The looks in between, which are there for a
 * polite release, are placed where the `Date` of their replies tells most about the service's clock.
 */
export function nextLookAtGridMs({ clock, serviceClock, grid, leaseDurationMs, retryPeriodMs }: AimOptions): number | undefined {
  const nowMs = clock.monotonicMs();
  const tick = serviceClock.toMonotonic(grid.tick, nowMs);
  if (!tick) return undefined;
  const firstMs = tick.hi + leaseDurationMs + SETTLE_MS;
  const ticks = Math.floor((nowMs - firstMs) / grid.intervalMs) + 1;
  const untilExpiryMs = firstMs + ticks * grid.intervalMs - nowMs;
  const looks = Math.ceil(untilExpiryMs / retryPeriodMs);
  if (looks <= 1) return Math.max(untilExpiryMs, 1) + clock.random() * JITTER_MS;
  const stepMs = untilExpiryMs / looks;
  if (serviceClock.uncertaintyMs(nowMs) <= PROBE_TO_MS) return stepMs;
  // As early as leaves no more than the other looks can cover; else it would cost another one.
  const earliestMs = Math.max(untilExpiryMs - (looks - 1) * retryPeriodMs, 1);
  const probeMs = serviceClock.sharpeningMs(nowMs + earliestMs) - nowMs;
  return probeMs <= retryPeriodMs ? probeMs : stepMs;
}

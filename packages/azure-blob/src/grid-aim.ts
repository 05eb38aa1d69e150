import type { Clock } from "@leasehold/core";
import type { ServiceClock } from "@leasehold/core/provider";
import type { Grid } from "./schema.ts";

/** A holder should know the service's clock to this, for the grid that it publishes. */
export const SHARP_MS = 30;
/** A standby learns the service's clock to this: better, so that it is sharp still when the standby becomes the holder. */
const PROBE_TO_MS = 15;
/** A poll waits this long after a possible expiry, for the service to have noticed it. */
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
 * Returns the wait until a standby's next poll of a blob, or `undefined` before the service's first reply.
 *
 * Renewals change nothing that can be read, but the holder renews on a published grid, so its lease can run out only one
 * lease duration after one of the grid's ticks. A standby that polls just after each of those instants finds an expiry at
 * once. The polls in between, which find a release, are placed where the `Date` of their replies says most about the
 * service's clock.
 */
export function nextLookAtGridMs({ clock, serviceClock, grid, leaseDurationMs, retryPeriodMs }: AimOptions): number | undefined {
  const nowMs = clock.monotonicMs();
  const tick = serviceClock.toMonotonic(grid.tick, nowMs);
  if (!tick) return undefined;
  const firstMs = tick.hi + leaseDurationMs + SETTLE_MS;
  const ticks = Math.floor((nowMs - firstMs) / grid.intervalMs) + 1;
  const untilExpiryMs = firstMs + ticks * grid.intervalMs - nowMs;
  const polls = Math.ceil(untilExpiryMs / retryPeriodMs);
  if (polls <= 1) return Math.min(Math.max(untilExpiryMs, 1) + clock.random() * JITTER_MS, retryPeriodMs);
  const stepMs = untilExpiryMs / polls;
  if (serviceClock.uncertaintyMs(nowMs) <= PROBE_TO_MS) return stepMs;
  // No earlier than the other polls can make up for: else it would cost one more.
  const earliestMs = Math.max(untilExpiryMs - (polls - 1) * retryPeriodMs, 1);
  const probeMs = serviceClock.sharpeningMs(nowMs + earliestMs) - nowMs;
  return probeMs <= retryPeriodMs ? probeMs : stepMs;
}

import type { Clock, ServiceClock } from "@leasehold/core/provider";
import type { Grid } from "./schema.ts";

/** A holder learns the service's clock to this accuracy before its grid counts as sharp. */
export const SHARP_MS = 30;
/**
 * A standby learns the service's clock to this accuracy. This is finer than {@link SHARP_MS}, so that the clock is still sharp
 * when the standby becomes the holder.
 */
const PROBE_TO_MS = 15;
/** The wait of a poll after a possible expiry, so that the service has noticed the expiry. */
const SETTLE_MS = 25;
/** Spreads the polls of standbys that aim at the same instant. */
const JITTER_MS = 20;

export interface AimOptions {
  readonly clock: Clock;
  readonly serviceClock: ServiceClock;
  readonly grid: Grid;
  readonly leaseDurationMs: number;
  readonly retryPeriodMs: number;
}

/**
 * Returns the wait until a standby's next poll of a blob; `undefined` before the service's first reply.
 *
 * A renewal changes nothing that a read shows. But the holder renews at the instants of a published grid. So its lease can run
 * out only one lease duration after such an instant. A standby that polls just after each possible expiry finds it at once. The
 * polls in between find a release. They are sent when the `Date` of their replies says most about the service's clock.
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
  // If this poll came earlier, the rest of the wait would need one more poll.
  const earliestMs = Math.max(untilExpiryMs - (polls - 1) * retryPeriodMs, 1);
  const probeMs = serviceClock.sharpeningMs(nowMs + earliestMs) - nowMs;
  return probeMs <= retryPeriodMs ? probeMs : stepMs;
}

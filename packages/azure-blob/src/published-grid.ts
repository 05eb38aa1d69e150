import { type Clock, shareLimits, type RequestLimits, type ServiceClock } from "@leasehold/core/provider";
import { SHARP_MS } from "./grid-aim.ts";
import type { HeldBlobLease } from "./holding.ts";
import type { StoreParts } from "./parts.ts";
import type { Grid } from "./schema.ts";
import { rewriteTerm } from "./term-rewrite.ts";

/** The age at which a published grid is made sharp again. At a drift of 10 ppm, the two clocks move 6 ms apart in this time. */
const GRID_AGE_MS = 600_000;

/**
 * Returns the grid of a holder that renews at `tickMs` by the monotonic clock, and every `intervalMs` from there. Returns
 * `undefined` before the service's first reply.
 */
export function publishedGrid(
  { clock, serviceClock }: { readonly clock: Clock; readonly serviceClock: ServiceClock },
  tickMs: number,
  intervalMs: number,
): Grid | undefined {
  const tick = serviceClock.toService(tickMs, clock.monotonicMs());
  return tick && { tick, intervalMs };
}

/**
 * Makes the published grid sharp: learns the service's clock by probes, and publishes the grid again. Standbys aim only as well
 * as the holder knew that clock. Does so after the term's first renewal, and again after each {@link GRID_AGE_MS}. A holder that
 * was a standby knows the clock already, and sends nothing at first.
 *
 * This runs beside the renewals. A `publish` meanwhile waits for the grid's write, which takes at most half the time of a call.
 */
export function keepGridSharp(parts: StoreParts, holding: HeldBlobLease, { timeoutMs }: RequestLimits): void {
  const { grid } = holding.term;
  const nowMs = parts.clock.monotonicMs();
  if (!grid) return;
  if (grid.tick.hi - grid.tick.lo <= SHARP_MS) holding.probedMs ??= nowMs;
  if (holding.probedMs !== undefined && nowMs - holding.probedMs < GRID_AGE_MS) return;
  holding.probedMs = nowMs;
  const probing = new AbortController();
  holding.probing = probing;
  const run = async (): Promise<void> => {
    await parts.probes.probe(holding.lease.election, probing.signal);
    const sharper = publishedGrid(parts, holding.lease.grantedAt.monotonicMs, grid.intervalMs);
    const half = shareLimits(parts.clock, { timeoutMs: timeoutMs / 2, signal: probing.signal });
    if (sharper) await rewriteTerm(parts, "publish", holding, { grid: sharper }, half);
  };
  // If this fails, standbys find an expiry a little later. There is no other effect.
  void run().catch(() => undefined);
}

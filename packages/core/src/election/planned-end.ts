import type { LeaseStoreCapabilities } from "../store/capabilities.ts";
import type { Instant } from "../time/clock.ts";
import type { Timing } from "./timing.ts";

/** The time that a planned end leaves for the task to settle, and for the release to arrive, before the look. */
const BEFORE_LOOK_MS = 100;

/**
 * Returns the time at which a term that was granted at `grantedAt`, and is to end soon, had best do so, from `nowMs` on: right before
 * the standbys' next look. They look in step with the holder's grid where they have to, and the holder knows when. It is no longer
 * than one wait between two looks of a standby with the same options, and an aim alone: whoever looks at other times finds the
 * release later.
 */
export function plannedEndMs(
  nowMs: number,
  grantedAt: Instant,
  { renewIntervalMs, retryPeriodMs, leaseDurationMs }: Timing,
  { watch, expiry }: LeaseStoreCapabilities,
): number {
  if (watch === "push") return 0;
  const betweenLooksMs = renewIntervalMs / Math.ceil(renewIntervalMs / retryPeriodMs);
  // After each renewal, or where none can be seen, after each instant at which the lease may have run out.
  const originMs = grantedAt.monotonicMs + (expiry === "native" ? leaseDurationMs : 0);
  const sinceLookMs = (((nowMs - originMs) % betweenLooksMs) + betweenLooksMs) % betweenLooksMs;
  return Math.max(betweenLooksMs - sinceLookMs - BEFORE_LOOK_MS, 0);
}

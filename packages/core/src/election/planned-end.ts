import type { LeaseStoreCapabilities } from "../store/capabilities.ts";
import type { Instant } from "../time/clock.ts";
import type { Timing } from "./timing.ts";

/** The time between a planned end and the poll. The task settles and the release arrives in it. */
const BEFORE_LOOK_MS = 100;

/**
 * Returns the milliseconds from `nowMs` after which a term should end that is to end soon. The aim is just before the standbys'
 * next poll. `grantedAt` is the start of the term.
 *
 * Standbys that must poll do so in step with the holder's renewals, so the holder knows when. The result is at most one wait
 * between two polls of a standby with the same options. It is only an aim: a standby that polls at other times finds the release
 * later.
 */
export function plannedEndMs(
  nowMs: number,
  grantedAt: Instant,
  { renewIntervalMs, retryPeriodMs, leaseDurationMs }: Timing,
  { watch, expiry }: LeaseStoreCapabilities,
): number {
  if (watch === "push") return 0;
  const betweenLooksMs = renewIntervalMs / Math.ceil(renewIntervalMs / retryPeriodMs);
  // Polls follow each renewal. If expiry is native they cannot see one, and follow each instant at which the lease may expire.
  const originMs = grantedAt.monotonicMs + (expiry === "native" ? leaseDurationMs : 0);
  const sinceLookMs = (((nowMs - originMs) % betweenLooksMs) + betweenLooksMs) % betweenLooksMs;
  return Math.max(betweenLooksMs - sinceLookMs - BEFORE_LOOK_MS, 0);
}

import type { LeaseStoreCapabilities } from "../store/capabilities.ts";
import { sleep, type Instant } from "../time/clock.ts";
import type { Leadership } from "./leadership.ts";
import type { LeaderTerm, LeaderTermOptions } from "./leader-term.ts";
import { hasQueue } from "./queued-campaign.ts";
import type { Timing } from "./timing.ts";

/** The time between a planned end and the poll. The task settles and the release arrives in it. */
const BEFORE_LOOK_MS = 100;

/** Waits until the best time for a leader to stop, unless its term ends earlier. */
export async function untilPlannedEnd(term: LeaderTerm<Leadership>, options: LeaderTermOptions): Promise<void> {
  const { clock, store, timing, wishes } = options;
  const { releaseOnStop = true, renewal } = wishes;
  // The leader stops at once if nothing is released, or renewals follow no grid. It also does if standbys wait in a queue,
  // because they do not poll.
  if (!term.mayWork || !releaseOnStop || renewal === "manual" || hasQueue(store)) return;
  const inMs = plannedEndMs(clock.monotonicMs(), term.grantedAt, timing, store.capabilities);
  if (inMs > 0) await sleep(clock, inMs, term.leadership.signal).catch(() => undefined);
}

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

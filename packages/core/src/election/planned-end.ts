import type { LeaseStoreCapabilities } from "../store/capabilities.ts";
import { sleep, type Instant } from "../time/clock.ts";
import type { Leadership } from "./leadership.ts";
import type { LeaderTerm, LeaderTermOptions } from "./leader-term.ts";
import { hasQueue } from "./queued-campaign.ts";
import type { Timing } from "./timing.ts";

/** The time from a planned end to the next poll. In this time the task has to settle, and the release has to arrive. */
const BEFORE_POLL_MS = 100;

export async function untilPlannedEnd(term: LeaderTerm<Leadership>, options: LeaderTermOptions): Promise<void> {
  const { clock, store, timing, wishes } = options;
  const { releaseOnStop = true, renewal } = wishes;
  // Nothing is gained if nothing is released, if renewals follow no grid, or if standbys wait in a queue and do not poll.
  if (!term.mayWork || !releaseOnStop || renewal === "manual" || hasQueue(store)) return;
  const inMs = plannedEndMs(clock.monotonicMs(), term.grantedAt, timing, store.capabilities);
  if (inMs > 0) await sleep(clock, inMs, term.leadership.signal).catch(() => undefined);
}

/** Returns the wait until just before the next poll of standbys with the same options. The result is an estimate. */
export function plannedEndMs(
  nowMs: number,
  grantedAt: Instant,
  { renewIntervalMs, retryPeriodMs, leaseDurationMs }: Timing,
  { watch, expiry }: LeaseStoreCapabilities,
): number {
  if (watch === "push") return 0;
  const betweenPollsMs = renewIntervalMs / Math.ceil(renewIntervalMs / retryPeriodMs);
  // Polls follow each renewal. If expiry is native, standbys cannot see renewals, and poll when the lease may expire.
  const originMs = grantedAt.monotonicMs + (expiry === "native" ? leaseDurationMs : 0);
  const sincePollMs = (((nowMs - originMs) % betweenPollsMs) + betweenPollsMs) % betweenPollsMs;
  return Math.max(betweenPollsMs - sincePollMs - BEFORE_POLL_MS, 0);
}

import { elapsedMs, type Instant } from "../time/clock.ts";
import type { TermState } from "./term-state.ts";

/** A renewal that is sent at most this early still counts for its tick, because a timer may run early. */
const TICK_SLACK_MS = 5;
/** The wait after the first failed renewal. It doubles with each further failure. */
const FIRST_RETRY_MS = 100;

/** Returns the time since the send of the last good request, by the larger elapsed time of both clocks. */
export function sinceGrantMs(term: TermState, now: Instant): number {
  return elapsedMs(now, term.grantedAt);
}

/** Returns how long the leadership stays valid without another renewal; negative once it is over. */
export function validForMs(term: TermState, now: Instant): number {
  return term.plan.timing.validForMs - sinceGrantMs(term, now);
}

/** Returns the time until the renew deadline. Once the signal has aborted, returns the time until the leadership is over. */
export function toDeadlineMs(term: TermState, now: Instant): number {
  return term.drain ? validForMs(term, now) : term.plan.timing.renewDeadlineMs - sinceGrantMs(term, now);
}

/** Returns the time until the *last try*: one whole attempt that ends at the deadline. Negative once that try is due. */
export function toLastTryMs(term: TermState, now: Instant): number {
  if (term.renewal.is === "closed" || term.plan.renewal === "manual") return -Infinity;
  return toDeadlineMs(term, now) - term.plan.timing.attemptTimeoutMs;
}

/** Returns the instant of the next renewal by the monotonic clock: a multiple of `renewIntervalMs` since the win. */
export function nextGridMs({ plan, grantedAt }: Pick<TermState, "plan" | "grantedAt">): number {
  const originMs = plan.lease.grantedAt.monotonicMs;
  const { renewIntervalMs } = plan.timing;
  const slackMs = Math.min(TICK_SLACK_MS, renewIntervalMs / 10);
  const ticks = Math.floor((grantedAt.monotonicMs - originMs + slackMs) / renewIntervalMs) + 1;
  return originMs + ticks * renewIntervalMs;
}

interface FailedRenewal {
  readonly atMs: number;
  /** True if this renewal was requested before the last try was due. */
  readonly isBeforeLastTry: boolean;
  readonly retryAfterMs: number;
}

/** Returns the wait after a failed renewal. It doubles each time, or is what the service asks, up to the last try. */
export function retryInMs(term: TermState, failed: FailedRenewal, now: Instant): number {
  const longestMs = Math.min(FIRST_RETRY_MS * 2 ** term.failures, term.plan.timing.renewIntervalMs / 4);
  const backoffMs = Math.max(longestMs - (now.monotonicMs - failed.atMs), 0);
  const lastTryMs = toLastTryMs(term, now);
  if (lastTryMs > 0) return Math.min(Math.max(failed.retryAfterMs, backoffMs), lastTryMs);
  return failed.isBeforeLastTry ? 0 : backoffMs;
}

/** Returns the time limit of a request that is sent now; not positive once the leadership's validity has ended. */
export function requestLimitMs(term: TermState, now: Instant): number {
  const lastTryMs = toLastTryMs(term, now);
  return Math.min(term.plan.timing.attemptTimeoutMs, lastTryMs > 0 ? lastTryMs : validForMs(term, now));
}

/** Reports whether a renewal may be sent now. Shortly before the last try it may not, because the last try would cut it off. */
export function mayRenew(term: TermState, now: Instant): boolean {
  if (term.renewal.is === "closed") return false;
  const lastTryMs = toLastTryMs(term, now);
  return lastTryMs <= 0 || lastTryMs >= term.plan.timing.attemptTimeoutMs / 2;
}

export function isLastTryDue(term: TermState, now: Instant): boolean {
  return term.renewal.is !== "closed" && term.plan.renewal === "scheduled" && toLastTryMs(term, now) <= 0;
}

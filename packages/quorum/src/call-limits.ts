import type { Clock } from "@leasehold/core";

/** The part of a call's time that each of its round trips may take: there are up to four. */
export const ROUND_TRIPS = 4;

/** Bounds of one call. */
export interface CallLimits {
  readonly signal: AbortSignal;
  /** The end of the call, by the monotonic clock. */
  readonly untilMs: number;
  /** The time that each member has for each request. */
  readonly memberMs: number;
}

/** The limits of a call that may take `timeoutMs` in all. */
export function callLimits(clock: Clock, signal: AbortSignal, timeoutMs: number): CallLimits {
  return { signal, untilMs: clock.monotonicMs() + timeoutMs, memberMs: timeoutMs / ROUND_TRIPS };
}

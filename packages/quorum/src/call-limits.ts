import type { Clock } from "@leasehold/core/provider";

/** The most round trips of one call. Each round trip may take an equal part of the call's time: a quarter. */
export const ROUND_TRIPS = 4;

/** Limits of one call. */
export interface CallLimits {
  readonly signal: AbortSignal;
  /** The end of the call, by the monotonic clock. */
  readonly untilMs: number;
  /** The time that each member has for each request, in milliseconds. */
  readonly memberMs: number;
}

/** Returns the limits of a call that may take `timeoutMs` in all. */
export function callLimits(clock: Clock, signal: AbortSignal, timeoutMs: number): CallLimits {
  return { signal, untilMs: clock.monotonicMs() + timeoutMs, memberMs: timeoutMs / ROUND_TRIPS };
}

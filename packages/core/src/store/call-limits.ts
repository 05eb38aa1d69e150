import type { Clock } from "../time/clock.ts";
import type { RequestLimits } from "./lease-store.ts";

/**
 * Returns the limits of a call that sends several requests. Each request may take the part of `timeoutMs` that earlier ones have
 * left.
 */
export function shareLimits<Limits extends RequestLimits>(clock: Clock, limits: Limits): Limits {
  const untilMs = clock.monotonicMs() + limits.timeoutMs;
  return {
    ...limits,
    get timeoutMs() {
      return Math.max(untilMs - clock.monotonicMs(), 0);
    },
  };
}

import type { Clock } from "../time/clock.ts";
import type { RequestLimits } from "./lease-store.ts";

/** The limits of a call that sends more than one request: each may take what those before it have left of `timeoutMs`. */
export function shareLimits<Limits extends RequestLimits>(clock: Clock, limits: Limits): Limits {
  const untilMs = clock.monotonicMs() + limits.timeoutMs;
  return {
    ...limits,
    get timeoutMs() {
      return Math.max(untilMs - clock.monotonicMs(), 0);
    },
  };
}

import type { Clock } from "./clock.ts";
import type { RequestLimits } from "./lease-store.ts";

/** The limits of a call that sends more than one request: each may take what those before it have left of `timeoutMs`. */
export function shareLimits(clock: Clock, { timeoutMs }: RequestLimits): RequestLimits {
  const untilMs = clock.monotonicMs() + timeoutMs;
  return {
    get timeoutMs() {
      return Math.max(untilMs - clock.monotonicMs(), 0);
    },
  };
}

import { sleep, type Clock } from "../time/clock.ts";
import { isLeaseholdError, type StoreError } from "../reporting/errors.ts";
import type { ReleaseOutcome, RequestLimits } from "../store/lease-store.ts";

/**
 * The number of times that a release is tried: one lost request must not cost a lease, and an outage must not hold up a stop
 * for long.
 */
const TRIES = 2;
/** The wait between the two, unless the service asks for more; and the longest one, if it does. */
const RETRY_MS = 100;
const RETRY_MAX_MS = 1_000;

/** A release, and how much time a try may take: not positive once it is too late. */
export interface TimelyRelease {
  readonly clock: Clock;
  readonly timeoutMs: () => number;
  readonly send: (limits: RequestLimits) => Promise<ReleaseOutcome>;
}

/**
 * Releases a lease, trying once more after a failure while there is time. Returns whether it was released.
 * @throws what the last try threw.
 */
export async function releaseInTime({ clock, timeoutMs, send }: TimelyRelease): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    const limitMs = timeoutMs();
    if (limitMs <= 0) return false;
    try {
      return (await send({ timeoutMs: limitMs })) !== "not-held";
    } catch (error) {
      if (tries === TRIES || timeoutMs() <= 0) throw error;
      const askedMs = isLeaseholdError(error) ? ((error as StoreError).retryAfterMs ?? 0) : 0;
      await sleep(clock, Math.min(Math.max(askedMs, RETRY_MS), RETRY_MAX_MS));
    }
  }
}

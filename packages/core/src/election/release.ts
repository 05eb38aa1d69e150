import { sleep, type Clock } from "../time/clock.ts";
import { isLeaseholdError, type StoreError } from "../reporting/errors.ts";
import type { ReleaseOutcome, RequestLimits } from "../store/lease-store.ts";

/** The tries of a call that has little time. The second one covers a lost reply. More would delay the caller during an outage. */
export const TRIES = 2;
/** The wait between the two tries, and the longest wait if the service asks for more. */
const RETRY_MS = 100;
const RETRY_MAX_MS = 1_000;

export function retryWaitMs(error: unknown): number {
  const askedMs = isLeaseholdError(error) ? ((error as StoreError).retryAfterMs ?? 0) : 0;
  return Math.min(Math.max(askedMs, RETRY_MS), RETRY_MAX_MS);
}

/** A release. `timeoutMs` returns the time that a try may take: 0 or less if it is too late. */
export interface TimelyRelease {
  readonly clock: Clock;
  readonly timeoutMs: () => number;
  readonly send: (limits: RequestLimits) => Promise<ReleaseOutcome>;
}

/** Releases a lease, in two tries if there is time. Returns whether it was released. @throws the error of the last try. */
export async function releaseInTime({ clock, timeoutMs, send }: TimelyRelease): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    const limitMs = timeoutMs();
    if (limitMs <= 0) return false;
    try {
      return (await send({ timeoutMs: limitMs })) !== "not-held";
    } catch (error) {
      if (tries === TRIES || timeoutMs() <= 0) throw error;
      await sleep(clock, retryWaitMs(error));
    }
  }
}

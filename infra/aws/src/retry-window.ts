import { ConfigurationError } from "@leasehold/core";
import { SAFETY_MARGIN } from "@leasehold/core/provider";

/**
 * The waits before Lambda's own retries of an asynchronous invocation that failed, timed out or died.
 * https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
 */
const RETRY_AFTER_S = [60, 120] as const;
/** The time for which a leadership stays valid after its invocation, the same as in `onlyAsLeader`. */
const LATE_END_S = 1;

/** The durations with which a retry comes after the lease of an invocation that died. */
export interface RetryWindow {
  /** The default lease that `onlyAsLeader` gives an invocation. No other invocation takes over before its end. */
  readonly leaseS: number;
  /**
   * The wait of an attempt that finds the lease held (`waitMs` of `onlyAsLeader`). With it, the last attempt comes after the
   * lease. It is 0 if Lambda's own waits are long enough.
   */
  readonly waitS: number;
}

/**
 * Computes the times of Lambda's attempts, for a function that Lambda ends after `timeoutS` and invokes again `retryAttempts`
 * times.
 * @throws {ConfigurationError} if no attempt can come after the lease.
 */
export function retryWindow(timeoutS: number, retryAttempts: number): RetryWindow {
  const leaseS = Math.ceil((timeoutS + LATE_END_S) / (1 - SAFETY_MARGIN));
  const ownWaitsS = RETRY_AFTER_S.slice(0, retryAttempts).reduce((sum, waitS) => sum + waitS, 0);
  const waitS = retryAttempts === 0 ? 0 : Math.max(0, leaseS - ownWaitsS);
  // At least half of the invocation's time has to be left for the work.
  if (retryAttempts > 0 && retryAttempts < RETRY_AFTER_S.length && waitS > timeoutS / 2) {
    throw new ConfigurationError(
      `timeout is ${timeoutS} s and retryAttempts ${retryAttempts}: an invocation that dies early leaves a lease of ${leaseS} s, and Lambda's one other attempt comes after ${ownWaitsS} s, and could not wait for the rest. Leave retryAttempts at ${RETRY_AFTER_S.length}, or set it to 0 to have the dead-letter queue told at once.`,
    );
  }
  return { leaseS, waitS };
}

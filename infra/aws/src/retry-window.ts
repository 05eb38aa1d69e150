import { ConfigurationError } from "@leasehold/core";
import { SAFETY_MARGIN } from "@leasehold/core/provider";

/**
 * The waits before Lambda's own attempts after the first, of an asynchronous invocation that failed, timed out or died.
 * https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
 */
const RETRY_AFTER_S = [60, 120] as const;
/** How much longer than its invocation a leadership is valid: as `onlyAsLeader` sizes its lease. */
const LATE_END_S = 1;

/** What an occurrence has, so that another attempt comes once the lease of an invocation that died has run out. */
export interface RetryWindow {
  /** The lease of an invocation that `onlyAsLeader` gives it by default: nobody takes over before its end. */
  readonly leaseS: number;
  /**
   * How long an attempt that finds the lease held has to wait (`waitMs` of `onlyAsLeader`), so that the last one comes after
   * its end: 0 where Lambda's own waits are long enough.
   */
  readonly waitS: number;
  /** The time from the first delivery to the last attempt, at most: an event has to live that long. */
  readonly lastAttemptS: number;
}

/**
 * Works out when Lambda's attempts come, for a function that Lambda ends after `timeoutS` and invokes again `retryAttempts` times.
 * @throws {ConfigurationError} where no attempt can come after the lease.
 */
export function retryWindow(timeoutS: number, retryAttempts: number): RetryWindow {
  const leaseS = Math.ceil((timeoutS + LATE_END_S) / (1 - SAFETY_MARGIN));
  const ownWaitsS = RETRY_AFTER_S.slice(0, retryAttempts).reduce((sum, waitS) => sum + waitS, 0);
  const waitS = retryAttempts === 0 ? 0 : Math.max(0, leaseS - ownWaitsS);
  // Half of its time is left to work in, at least, or it would wait for nothing.
  if (retryAttempts > 0 && retryAttempts < RETRY_AFTER_S.length && waitS > timeoutS / 2) {
    throw new ConfigurationError(
      `timeout is ${timeoutS} s and retryAttempts ${retryAttempts}: an invocation that dies early leaves a lease of ${leaseS} s, and Lambda's one other attempt comes after ${ownWaitsS} s, and could not wait for the rest. Leave retryAttempts at ${RETRY_AFTER_S.length}, or set it to 0 to have the dead-letter queue told at once.`,
    );
  }
  return { leaseS, waitS, lastAttemptS: timeoutS + ownWaitsS + waitS };
}

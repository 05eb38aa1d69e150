import type { ClaimedOccurrence as Claimed } from "@leasehold/core/occurrences";

/** An occurrence that this invocation has claimed. */
export interface ClaimedOccurrence extends Claimed {
  /** True if the occurrence was missed and the invocation was delivered for a later one. */
  readonly caughtUp: boolean;
}

/** The advice for a platform that does not pass the occurrence. */
export const PASS_OCCURRENCE =
  "Pass 'occurrence', a function that takes the handler's arguments and returns { name, scheduledMs }.";

import type { ClaimedOccurrence as Claimed } from "@leasehold/core";

/** An occurrence that this invocation has claimed. */
export interface ClaimedOccurrence extends Claimed {
  /** It was missed, and this invocation was delivered for a later one. */
  readonly caughtUp: boolean;
}

/** The advice to who has a platform that does not tell the occurrence. */
export const PASS_OCCURRENCE =
  "Pass 'occurrence', a function that takes the handler's arguments and returns { name, scheduledMs }.";

import { LeaseholdError, type Leader } from "@leasehold/core";

/**
 * An earlier delivery of the same request holds the election, or the occurrence, and nobody knows whether it still works: it
 * may have died. Its platform is to deliver once more. A delivery after the end of the lease takes over, and one that finds the
 * occurrence done succeeds. Which try it is, the platform counts: one that gives up tells its dead-letter queue.
 */
export class AlreadyClaimedError extends LeaseholdError {
  /** The claim that was found. */
  readonly leader: Leader;
  /** What names the request, the same at each of its deliveries. */
  readonly delivery: string;

  constructor(election: string, delivery: string, leader: Leader) {
    super(
      "ALREADY_CLAIMED",
      `'${election}' is held by an earlier delivery of this same request ('${leader.candidateId}', term ${leader.term}), which works still, or died before its lease has run out. ` +
        "Deliver it again: after the lease it is taken over. If this is your platform's last try, let it retry for longer than leaseDurationMs.",
      { election },
    );
    this.leader = leader;
    this.delivery = delivery;
  }
}

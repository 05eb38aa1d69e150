import { LeaseholdError, type Leader } from "@leasehold/core";

/**
 * An earlier delivery of the same request holds the election or the occurrence. It may still be running, or its process may
 * have died. The platform has to deliver the request again. A delivery after the end of the lease takes over. A delivery that finds the
 * occurrence done succeeds. The platform counts the deliveries, and reports to its dead-letter queue when it gives up.
 */
export class AlreadyClaimedError extends LeaseholdError {
  /** The claim that was found. */
  readonly leader: Leader;
  /** The name of the request, the same at each of its deliveries. */
  readonly delivery: string;

  constructor(election: string, delivery: string, leader: Leader) {
    super(
      "ALREADY_CLAIMED",
      `'${election}' is held by an earlier delivery of this same request ('${leader.candidateId}', term ${leader.term}), which is still running, or died without a release. ` +
        "Deliver the request again: once the lease has run out, another delivery takes over. If this is your platform's last try, let it retry for longer than leaseDurationMs.",
      { election },
    );
    this.leader = leader;
    this.delivery = delivery;
  }
}

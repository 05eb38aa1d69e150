import type { FenceOf, Leadership, LeaseStore } from "@leasehold/core";
import { fenceOf } from "@leasehold/core/provider";
import { claimValue } from "./claim-value.ts";
import type { ClaimedOccurrence } from "./occurrence.ts";

/**
 * The leadership of this invocation, which a wrapped handler gets beside its own arguments. It is over as soon as the
 * handler has settled, in an instance that stays warm as well, and after any freeze longer than the lease.
 */
export interface FunctionLeadership<Store = LeaseStore> extends Omit<Leadership, "checkpoint"> {
  /**
   * Says that the work is alive and, unless renewals are sent in the background, renews the lease where that is due.
   * Call it between two pieces of work that is longer than the lease.
   * @throws the signal's reason, once it has aborted. {LeaseLostError} if the lease is lost.
   */
  checkpoint(): Promise<void>;
  /** Makes a write of yours depend on this leadership, as the store's `fence` does; it takes that one's further arguments. */
  readonly fence: FenceOf<Store>;
  /** The occurrence of the schedule, where the gate is `oncePerTick`; its attempt's number is the term. */
  readonly occurrence?: ClaimedOccurrence | undefined;
}

/** The facts of a leadership that its invocation knows. */
export interface LeadershipFacts {
  /** The handler renews, rather than a timer. */
  readonly renewsByHand: boolean;
  /** What names the request. */
  readonly delivery: string | undefined;
  readonly occurrence: ClaimedOccurrence | undefined;
}

/** @param store the one that the leadership was won on; that of the occurrences has a fence of its own, if any. */
export function functionLeadership<Store>(
  leadership: Leadership,
  store: LeaseStore,
  { renewsByHand, delivery, occurrence }: LeadershipFacts,
): FunctionLeadership<Store> {
  return {
    ...leadership,
    async checkpoint() {
      leadership.checkpoint();
      // Also once the signal has aborted: what the work needs to stop is covered by the lease, too.
      if (renewsByHand) await leadership.renew();
      leadership.signal.throwIfAborted();
    },
    async publish(value) {
      await leadership.publish(claimValue(value, delivery) ?? value);
    },
    fence: fenceOf<Store>(leadership, store, occurrence ? "occurrences" : "elections"),
    ...(occurrence ? { occurrence } : {}),
  };
}

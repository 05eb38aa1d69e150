import type { Leadership, LeaseStore } from "@leasehold/core";
import type { FenceOf } from "@leasehold/core/occurrences";
import { claimValue } from "./claim-value.ts";
import type { ClaimedOccurrence } from "./occurrence.ts";

/**
 * The leadership of this invocation, which a wrapped handler gets after its own arguments. It ends as soon as the handler has
 * settled, even in an instance that stays warm. It also ends during any freeze that is longer than the lease.
 */
export interface FunctionLeadership<Store = LeaseStore> extends Omit<Leadership, "checkpoint"> {
  /**
   * Reports that the work goes on. Renews the lease when a renewal is due, unless a timer in the background does that. Call it
   * between two pieces of work that together are longer than the lease.
   * @throws the signal's reason, once it has aborted. {LeaseLostError} if the lease is lost.
   */
  checkpoint(): Promise<void>;
  /**
   * Makes a write of yours depend on this leadership, as the store's `fence` does. It takes the arguments of the store's `fence` after
   * the first. With an overlap policy the write depends on leading the election that the option `election` names.
   */
  readonly fence: FenceOf<Store>;
  /** The occurrence of the schedule, if the gate is `oncePerTick`. The number of its attempt is the term. */
  readonly occurrence?: ClaimedOccurrence | undefined;
}

/** The facts of a leadership that only its invocation knows. */
export interface LeadershipFacts<Store> {
  /** True if the handler renews, and no timer does. */
  readonly renewsByHand: boolean;
  /** The name of the request, the same at each of its deliveries. */
  readonly delivery: string | undefined;
  readonly occurrence: ClaimedOccurrence | undefined;
  readonly fence: FenceOf<Store>;
}

/** Returns the leadership as a handler receives it. */
export function functionLeadership<Store>(
  leadership: Leadership,
  { renewsByHand, delivery, occurrence, fence }: LeadershipFacts<Store>,
): FunctionLeadership<Store> {
  return {
    ...leadership,
    async checkpoint() {
      leadership.checkpoint();
      // Renew also after the signal has aborted, because the lease has to cover the time in which the work stops.
      if (renewsByHand) await leadership.renew();
      leadership.signal.throwIfAborted();
    },
    async publish(value) {
      await leadership.publish(claimValue(value, delivery) ?? value);
    },
    fence,
    ...(occurrence ? { occurrence } : {}),
  };
}

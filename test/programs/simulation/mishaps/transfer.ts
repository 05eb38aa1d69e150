import { NOBODY } from "../orders.ts";
import type { MishapKind } from "../faults/fault.ts";
import { afterResignation, drawAfterResignation, type AfterResignation } from "./resign.ts";

/** An administrator transfers the leadership to one candidate, or to one that never comes. */
export interface Transfer extends AfterResignation {
  readonly kind: "transfer";
  readonly to: number | typeof NOBODY;
  readonly timeoutMs: number;
}

/**
 * The longest time for which only the candidate of a transfer may acquire, in leases. A transfer to nobody is undone after a
 * while.
 */
const LONGEST_RESERVATION = 1;
const LONGEST_TO_NOBODY = 10;

export const transfer: MishapKind<Transfer> = {
  share: 2,
  // On etcd the next in the queue leads, and no other can be named.
  fits: ({ store }) => store !== "etcd",
  draw: (random, scope) => {
    const { leaseMs, count } = scope;
    const toNobody = random.chance(0.15);
    return {
      kind: "transfer",
      to: toNobody ? NOBODY : Math.floor(random.next() * count),
      timeoutMs: leaseMs * random.between(0.1, toNobody ? LONGEST_TO_NOBODY : LONGEST_RESERVATION),
      ...drawAfterResignation(random, scope),
    };
  },
  befall: (mishap, world) =>
    afterResignation(mishap, world, () => {
      const { to, timeoutMs } = mishap;
      const candidateId = to === NOBODY ? NOBODY : (world.seats[to]?.id ?? `c${to}`);
      world.orders.transfer(candidateId, timeoutMs);
    }),
};

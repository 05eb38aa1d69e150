import { SLOWEST_RATE } from "../stores/simulated-store.ts";
import type { MishapKind } from "../faults/fault.ts";

/** An administrator ends the session of a candidate in the queue, which does not learn of it. */
export interface Revocation {
  readonly kind: "revocation";
  /** The place in the queue, from 0. The first may lead. */
  readonly index: number;
}

export const revocation: MishapKind<Revocation> = {
  share: 2,
  fits: ({ store }) => store === "etcd",
  draw: (random) => ({ kind: "revocation", index: random.pick([0, 0, 1, 1, 2]) }),
  befall: ({ index }, world) => {
    const term = world.store.faults?.revoke(index);
    if (term === undefined) return;
    world.note("service", `an administrator revokes the lease of term ${term}`);
    // The holder cannot know of it before it renews, or its own time is over.
    world.referee.excuse(term, world.nowMs + world.leaseMs / SLOWEST_RATE);
  },
};

import { drawSpanMs, type MishapKind } from "./mishap.ts";

/** The members of the service elect another leader of theirs, which lets every lease begin anew. */
export interface LeaderElection {
  readonly kind: "leader-election";
  /** For how long the former one does not hear of it; 0: it does at once. */
  readonly cutOffMs: number;
}

export const leaderElection: MishapKind<LeaderElection> = {
  share: 2,
  fits: ({ store }) => store === "etcd",
  draw: (random, scope) => ({ kind: "leader-election", cutOffMs: random.chance(0.7) ? drawSpanMs(random, scope) : 0 }),
  befall: ({ cutOffMs }, world) => {
    const { faults } = world.store;
    world.note("service", `its members elect a leader, unheard of by the former one for ${Math.round(cutOffMs)} ms`);
    faults?.electLeader(cutOffMs > 0);
    world.beforeCalm(cutOffMs, () => faults?.heal());
  },
};

import { drawSpanMs, drawVictim, type MishapKind, type Victim } from "../faults/fault.ts";

/** The members of the service elect another leader of theirs, which restarts every lease. */
export interface LeaderElection {
  readonly kind: "leader-election";
  /** The time for which the former leader does not learn of it. 0: it learns at once. */
  readonly cutOffMs: number;
  /** The process that is connected to that member, and the time for which its next renewal is its last. */
  readonly who: Victim;
  readonly lastRenewalForMs: number | undefined;
}

export const leaderElection: MishapKind<LeaderElection> = {
  share: 5,
  fits: ({ store }) => store === "etcd",
  draw: (random, scope) => ({
    kind: "leader-election",
    cutOffMs: random.chance(0.6) ? drawSpanMs(random, scope) : 0,
    who: random.chance(0.7) ? "leader" : drawVictim(random, scope),
    lastRenewalForMs: random.chance(0.7) ? scope.leaseMs * random.between(1, 2) : undefined,
  }),
  befall: ({ cutOffMs, who, lastRenewalForMs }, world) => {
    const { faults } = world.store;
    const victim = world.victim(who);
    world.note("service", `its members elect a leader, unheard of by that of ${victim?.id} for ${Math.round(cutOffMs)} ms`);
    faults?.electLeader(cutOffMs > 0 ? victim?.clock : undefined);
    if (lastRenewalForMs !== undefined) victim?.process.link.cutAfterNextWrite(lastRenewalForMs);
    world.beforeCalm(cutOffMs, () => faults?.heal());
  },
};

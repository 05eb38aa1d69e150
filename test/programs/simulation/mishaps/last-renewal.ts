import { drawVictim, type MishapKind, type Victim } from "../faults/fault.ts";

/** A process's next renewal is its last for a while, because it is cut off then. Until then the others' requests are slow. */
export interface LastRenewal {
  readonly kind: "last-renewal";
  readonly who: Victim;
  readonly forMs: number;
  readonly slowMs: number;
}

export const lastRenewal: MishapKind<LastRenewal> = {
  share: 1,
  draw: (random, scope) => ({
    kind: "last-renewal",
    who: drawVictim(random, scope),
    forMs: scope.leaseMs * random.between(1, 2),
    slowMs: scope.leaseMs * random.between(0.06, 0.108),
  }),
  befall: ({ who, forMs, slowMs }, world) => {
    const victim = world.victim(who);
    if (!victim) return;
    world.note(victim.id, `is to be cut off after its next renewal, for ${Math.round(forMs)} ms`);
    const { link } = victim.process;
    link.cutAfterNextWrite(forMs);
    const untilMs = world.nowMs + victim.elector.timing.renewIntervalMs;
    for (const other of world.links) if (other !== link) other.interrupt({ kind: "slow", ms: slowMs, untilMs });
  },
};

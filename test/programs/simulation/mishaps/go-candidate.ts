import type { MishapKind } from "../faults/fault.ts";

/** A program in Go joins the queue. */
export interface GoCandidate {
  readonly kind: "go-candidate";
  readonly leadsForMs: number;
  /** True if it disappears instead of resigning. */
  readonly dies: boolean;
  readonly ttlS: number;
}

export const goCandidate: MishapKind<GoCandidate> = {
  share: 1,
  fits: ({ store }) => store === "etcd",
  draw: (random, { leaseMs }) => ({
    kind: "go-candidate",
    leadsForMs: leaseMs * random.between(0, 1.5),
    dies: random.chance(0.4),
    ttlS: random.pick([2, 5]),
  }),
  befall: ({ leadsForMs, dies, ttlS }, world) => {
    world.note("go", "joins the queue");
    world.store.faults?.joinInGo(leadsForMs, dies, ttlS);
  },
};

import { drawSpanMs, drawStepMs, type MishapKind } from "../faults/fault.ts";

/** The replica is cut off: writes are shown, but not acknowledged. Then it takes over without them, or has caught up. */
export interface ReplicaLoss {
  readonly kind: "replica-loss";
  readonly forMs: number;
  /** The time by which its clock is ahead if it takes over. Undefined: it catches up. */
  readonly aheadMs: number | undefined;
}

export const replicaLoss: MishapKind<ReplicaLoss> = {
  share: 4,
  fits: ({ store }) => store === "records with a clock" || store === "redis",
  draw: (random, scope) => {
    const { wrongClocks } = scope;
    const stepMs = wrongClocks === "store" || wrongClocks === "all" ? drawStepMs(random, scope) : 0;
    return { kind: "replica-loss", forMs: drawSpanMs(random, scope), aheadMs: random.chance(0.7) ? stepMs : undefined };
  },
  befall: ({ forMs, aheadMs }, world) => {
    const { store, orders, referee } = world;
    if (referee.isSpoilt || store.isCutOff) return;
    world.note("service", `acknowledges no write for ${Math.round(forMs)} ms`);
    store.cutOff?.();
    orders.cutOff();
    world.beforeCalm(forMs, () => {
      // Another failover may have come first.
      if (!store.isCutOff) return;
      if (aheadMs === undefined) {
        world.note("service", "has its replica back");
        store.rejoin?.();
        orders.acknowledged();
      } else {
        world.note("service", "fails over to a replica that lacks what was not acknowledged");
        store.failOver?.(aheadMs);
      }
    });
  },
};

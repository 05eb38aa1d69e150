import { drawSpanMs, type MishapKind } from "../faults/fault.ts";

/** The service is away for all processes. */
export interface Outage {
  readonly kind: "outage";
  readonly forMs: number;
  readonly how: "silent" | "refuses" | "throttles";
  /**
   * The time for which SDKs refuse all calls after the service is back, because they wait before they connect again. It may reach
   * into the calm.
   */
  readonly backsOffMs: number;
}

/** The longest of these waits, in leases. */
export const LONGEST_BACK_OFF_LEASES = 0.9;

export const outage: MishapKind<Outage> = {
  share: 1,
  draw: (random, scope) => ({
    kind: "outage",
    forMs: drawSpanMs(random, scope),
    how: random.pick(["silent", "refuses", "throttles"]),
    backsOffMs: random.chance(0.3) ? random.between(0, LONGEST_BACK_OFF_LEASES) * scope.leaseMs : 0,
  }),
  befall: ({ forMs, how, backsOffMs }, world) => {
    world.note("service", `is away (${how}) for ${Math.round(forMs)} ms`);
    for (const link of world.links) link.interrupt({ kind: "outage", how, untilMs: world.nowMs + forMs });
    if (backsOffMs <= 0) return;
    world.beforeCalm(forMs, () => {
      world.note("service", `is back, and SDKs refuse for ${Math.round(backsOffMs)} ms more`);
      for (const link of world.links) link.refuse(backsOffMs);
    });
  },
};

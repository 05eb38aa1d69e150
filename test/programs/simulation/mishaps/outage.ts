import { drawSpanMs, type MishapKind } from "./mishap.ts";

/** The service is away for everybody. */
export interface Outage {
  readonly kind: "outage";
  readonly forMs: number;
  readonly how: "silent" | "refuses" | "throttles";
}

export const outage: MishapKind<Outage> = {
  share: 1,
  draw: (random, scope) => ({
    kind: "outage",
    forMs: drawSpanMs(random, scope),
    how: random.pick(["silent", "refuses", "throttles"]),
  }),
  befall: ({ forMs, how }, world) => {
    world.note("service", `is away (${how}) for ${Math.round(forMs)} ms`);
    for (const link of world.links) link.interrupt({ kind: "outage", how, untilMs: world.nowMs + forMs });
  },
};

import { drawSpanMs, drawVictim, type MishapKind, type Victim } from "../faults/fault.ts";

/** A process is cut off from the service, in one direction or in both. */
export interface Partition {
  readonly kind: "partition";
  readonly who: Victim;
  readonly forMs: number;
  readonly side: "requests" | "replies" | "both";
}

export const partition: MishapKind<Partition> = {
  share: 2,
  draw: (random, scope) => ({
    kind: "partition",
    who: drawVictim(random, scope),
    forMs: drawSpanMs(random, scope),
    side: random.pick(["requests", "replies", "both"]),
  }),
  befall: ({ who, forMs, side }, world) => {
    const victim = world.victim(who);
    world.note(victim?.id ?? "nobody", `is cut off (${side}) for ${Math.round(forMs)} ms`);
    victim?.process.link.interrupt({ kind: "partition", side, untilMs: world.nowMs + forMs });
  },
};

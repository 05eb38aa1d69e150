import { drawVictim, type MishapKind, type Victim } from "./mishap.ts";

/** A candidate is told to give up its term, if it leads. */
export interface Resign {
  readonly kind: "resign";
  readonly who: Victim;
}

export const resign: MishapKind<Resign> = {
  share: 1,
  draw: (random, scope) => ({ kind: "resign", who: drawVictim(random, scope) }),
  befall: ({ who }, world) => {
    const victim = world.victim(who);
    world.note(victim?.id ?? "nobody", "is told to resign");
    if (victim?.clock.running) void victim.elector.resign();
  },
};

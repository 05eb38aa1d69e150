import { drawRestartMs, drawVictim, type MishapKind, type Victim } from "./mishap.ts";

/** A process is killed, and may be started again. */
export interface Crash {
  readonly kind: "crash";
  readonly who: Victim;
  readonly restartAfterMs: number | undefined;
  readonly sameId: boolean;
}

export const crash: MishapKind<Crash> = {
  share: 2,
  draw: (random, scope) => ({
    kind: "crash",
    who: drawVictim(random, scope),
    restartAfterMs: drawRestartMs(random, scope),
    sameId: random.chance(0.7),
  }),
  befall: ({ who, restartAfterMs, sameId }, world) => {
    const victim = world.victim(who);
    const seat = world.seats.indexOf(victim);
    if (!victim || seat < 0) return;
    world.note(victim.id, "crashes");
    victim.clock.kill();
    if (restartAfterMs === undefined) return;
    world.beforeCalm(restartAfterMs, () => world.enter(seat, sameId ? victim.id : `${victim.id}'`));
  },
};

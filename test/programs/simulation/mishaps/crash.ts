import { drawRestartMs, drawVictim, type MishapKind, type Victim } from "../faults/fault.ts";

/** A process is killed, and may be started again, with all candidates in it. */
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
    if (!victim) return;
    const { process } = victim;
    const dwellers = world.dwellers(process);
    world.note(process.id, "crashes");
    process.clock.kill();
    if (restartAfterMs === undefined) return;
    world.beforeCalm(restartAfterMs, () => {
      for (const { seat, id } of dwellers) world.enter(seat, sameId ? id : `${id}'`);
    });
  },
};

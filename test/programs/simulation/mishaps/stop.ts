import { drawRestartMs, drawVictim, type MishapKind, type Victim } from "../faults/fault.ts";

/** A candidate has to stop, as by SIGTERM to its process, and may be started again. */
export interface Stop {
  readonly kind: "stop";
  readonly who: Victim;
  readonly restartAfterMs: number | undefined;
}

export const stop: MishapKind<Stop> = {
  share: 2,
  draw: (random, scope) => ({ kind: "stop", who: drawVictim(random, scope), restartAfterMs: drawRestartMs(random, scope) }),
  befall: ({ who, restartAfterMs }, world) => {
    const victim = world.victim(who);
    if (!victim) return;
    world.note(victim.id, "is told to stop");
    victim.told = true;
    // Use a value that is drawn already, because one more draw would change every plan.
    const isPlanned = restartAfterMs === undefined;
    victim.clock.deliver(() => (isPlanned ? victim.stopAsPlanned() : victim.stopping.abort(new Error("told to stop"))));
    if (restartAfterMs === undefined) return;
    const { process } = victim;
    const dwellers = world.dwellers(process);
    world.beforeCalm(restartAfterMs, () => {
      // A process that has not stopped by then is killed. A process without other candidates ends with it.
      if (!victim.stopped || dwellers.length === 1) process.clock.kill();
      for (const { seat, id } of dwellers) world.enter(seat, id);
    });
  },
};

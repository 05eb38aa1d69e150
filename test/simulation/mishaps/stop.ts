import { drawRestartMs, drawVictim, type MishapKind, type Victim } from "./mishap.ts";

/** A process is asked to stop, as by SIGTERM, and may be started again. */
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
    const seat = world.seats.indexOf(victim);
    if (!victim || seat < 0) return;
    world.note(victim.id, "is told to stop");
    victim.told = true;
    victim.clock.deliver(() => victim.stopping.abort(new Error("told to stop")));
    if (restartAfterMs === undefined) return;
    // What has not stopped by then is killed.
    world.beforeCalm(restartAfterMs, () => {
      victim.clock.kill();
      world.enter(seat, victim.id);
    });
  },
};

import type { SimulatedProcess } from "../process.ts";
import type { World } from "../world.ts";
import { drawSpanMs, drawVictim, type MishapKind, type Victim } from "../faults/fault.ts";

/** Nothing of a process runs. On a machine that sleeps, its monotonic clock stops as well. */
export interface Freeze {
  readonly kind: "freeze";
  readonly who: Victim;
  readonly forMs: number;
}

export const freeze: MishapKind<Freeze> = {
  share: 3,
  draw: (random, scope) => ({ kind: "freeze", who: drawVictim(random, scope), forMs: drawSpanMs(random, scope) }),
  befall: ({ who, forMs }, world) => {
    const victim = world.victim(who);
    if (!victim?.clock.running) return;
    const { process, clock } = victim;
    world.note(victim.id, `is ${process.sleeps ? "suspended" : "paused"} for ${Math.round(forMs)} ms`);
    if (process.sleeps) clock.suspend();
    else clock.pause();
    world.beforeCalm(forMs, () => thaw(process, world));
  },
};

/** Lets a process run again, if it is frozen. */
export function thaw(process: SimulatedProcess, world: World): void {
  const { clock, sleeps } = process;
  if (!clock.alive || clock.running) return;
  world.note(process.id, "runs again");
  process.thawed = { atMs: world.nowMs, slept: sleeps };
  clock.resume();
  // The process checks its clocks in its first statement. This check has to suffice, even if timers are late.
  world.referee.checkLeaderships();
}

import type { Candidate } from "../candidate.ts";
import type { World } from "../world.ts";
import { drawSpanMs, drawVictim, type MishapKind, type Victim } from "./mishap.ts";

/** Nothing of a process runs; on a machine that sleeps, its monotonic clock stands still as well. */
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
    world.note(victim.id, `is ${victim.sleeps ? "suspended" : "paused"} for ${Math.round(forMs)} ms`);
    if (victim.sleeps) victim.clock.suspend();
    else victim.clock.pause();
    world.beforeCalm(forMs, () => thaw(victim, world));
  },
};

/** Lets a process run again, if it is frozen. */
export function thaw(victim: Candidate, world: World): void {
  if (!victim.clock.alive || victim.clock.running) return;
  world.note(victim.id, "runs again");
  victim.thawed = { atMs: world.nowMs, slept: victim.sleeps };
  victim.clock.resume();
  // Its very first statement: what its clocks say must be enough, whatever timers are late.
  world.referee.checkLeaderships();
}

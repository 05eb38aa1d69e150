import { drawVictim, HOUR_MS, type MishapKind, type Victim } from "../faults/fault.ts";

/** A process's wall clock is set. */
export interface WallClockJump {
  readonly kind: "wall-clock-jump";
  readonly who: Victim;
  readonly byMs: number;
}

export const wallClockJump: MishapKind<WallClockJump> = {
  share: 2,
  fits: ({ wrongClocks }) => wrongClocks !== "store",
  draw: (random, scope) => ({
    kind: "wall-clock-jump",
    who: scope.wrongClocks === "one wall" ? 0 : drawVictim(random, scope),
    byMs: random.between(-5 * HOUR_MS, 5 * HOUR_MS),
  }),
  befall: ({ who, byMs }, world) => {
    const victim = world.victim(who);
    if (!victim) return;
    // A machine that can be suspended is never set back in time.
    const fairMs = victim.process.sleeps ? Math.abs(byMs) : byMs;
    world.note(victim.id, `its wall clock jumps by ${Math.round(fairMs)} ms`);
    victim.clock.jumpWall(fairMs);
  },
};

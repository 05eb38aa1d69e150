import type { SeededRandom } from "@leasehold/core/testing";
import type { World } from "../world.ts";
import { drawVictim, type MishapKind, type Scope, type Victim } from "../faults/fault.ts";

/** A candidate has to end its term, if it leads. */
export interface Resign {
  readonly kind: "resign";
  readonly who: Victim;
}

export const resign: MishapKind<Resign> = {
  share: 1,
  draw: (random, scope) => ({ kind: "resign", who: drawVictim(random, scope) }),
  befall: ({ who }, world) => tellToResign(who, world),
};

function tellToResign(who: Victim, world: World): void {
  const victim = world.victim(who);
  world.note(victim?.id ?? "nobody", "is told to resign");
  if (victim?.clock.running) void victim.elector.resign();
}

/** The time after the leader's resignation at which something is done, when no candidate may lead yet. */
export interface AfterResignation {
  readonly resignedForMs: number | undefined;
}

export function drawAfterResignation(random: SeededRandom, { leaseMs }: Scope): AfterResignation {
  return { resignedForMs: random.chance(0.5) ? leaseMs * random.between(0, 0.6) : undefined };
}

export function afterResignation({ resignedForMs }: AfterResignation, world: World, act: () => void): void {
  if (resignedForMs === undefined) return act();
  tellToResign("leader", world);
  world.beforeCalm(resignedForMs, act);
}

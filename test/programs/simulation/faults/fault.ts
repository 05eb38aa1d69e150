import type { SeededRandom } from "@leasehold/core/testing";
import type { StoreKind } from "../stores/stores.ts";
import type { World } from "../world.ts";
import type { WrongClocks } from "../wrong-clocks.ts";

/** One kind of fault in a process, in the network or in the service, or of an administrator's order. */
export interface MishapKind<Drawn extends { readonly kind: string }> {
  /** The share of this kind among all that are drawn. */
  readonly share: number;
  /** True if it can happen in such a run, and users are promised to survive it. @defaultValue always */
  fits?(scope: Scope): boolean;
  draw(random: SeededRandom, scope: Scope): Drawn;
  /** Carries it out. Its effect ends by itself, at the latest when the calm begins. */
  befall(mishap: Drawn, world: World): void;
}

/** The facts for which a fault is drawn. */
export interface Scope {
  readonly store: StoreKind;
  readonly leaseMs: number;
  readonly wrongClocks: WrongClocks;
  /** The number of candidates. */
  readonly count: number;
}

/** The candidate that is hit: one of them, or the leader of that moment. */
export type Victim = number | "leader";

export const HOUR_MS = 3_600_000;

export function drawVictim(random: SeededRandom, { count }: Scope): Victim {
  return random.chance(0.6) ? "leader" : Math.floor(random.next() * count);
}

/** Draws the duration of a fault, which is often about a lease. */
export function drawSpanMs(random: SeededRandom, { leaseMs }: Scope): number {
  return leaseMs * random.pick([random.between(0, 0.3), random.between(0.3, 1), random.between(0.9, 1.2), random.between(1, 3)]);
}

/** Draws the time for which a process stays away. Undefined: for good. */
export function drawRestartMs(random: SeededRandom, { leaseMs }: Scope): number | undefined {
  return random.chance(0.8) ? leaseMs * random.pick([0, random.between(0, 0.5), random.between(0.5, 2)]) : undefined;
}

/** True if the store's own clock may show anything. */
export function storeClockIsWrong({ wrongClocks }: Scope): boolean {
  return wrongClocks === "store" || wrongClocks === "all";
}

/** Draws the step of a clock. It is often just enough to make a lease look expired, forward or back. */
export function drawStepMs(random: SeededRandom, { leaseMs }: Scope): number {
  const byMs = random.pick([leaseMs * random.between(0.9, 1.2), leaseMs * random.between(0, 2), random.between(0, 500), HOUR_MS]);
  return random.chance(0.7) ? byMs : -byMs;
}

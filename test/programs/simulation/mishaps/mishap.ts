import type { SeededRandom } from "@leasehold/core/testing";
import type { StoreKind } from "../stores/stores.ts";
import type { World } from "../world.ts";
import type { WrongClocks } from "../wrong-clocks.ts";

/** One kind of thing that happens to a process, to the network or to the service, or that an administrator does. */
export interface MishapKind<Drawn extends { readonly kind: string }> {
  /** How often it is drawn, as compared with the others. */
  readonly share: number;
  /** It can happen in such a run, and is within what users are promised. @defaultValue always */
  fits?(scope: Scope): boolean;
  draw(random: SeededRandom, scope: Scope): Drawn;
  /** Does it. What it does ends by itself, at the latest when the calm begins. */
  befall(mishap: Drawn, world: World): void;
}

/** What a mishap is drawn for. */
export interface Scope {
  readonly store: StoreKind;
  readonly leaseMs: number;
  readonly wrongClocks: WrongClocks;
  /** How many candidates there are. */
  readonly count: number;
}

/** Which candidate a mishap befalls: one of them, or whoever leads then. */
export type Victim = number | "leader";

export const HOUR_MS = 3_600_000;

export function drawVictim(random: SeededRandom, { count }: Scope): Victim {
  return random.chance(0.6) ? "leader" : Math.floor(random.next() * count);
}

/** How long something goes on: often for about a lease. */
export function drawSpanMs(random: SeededRandom, { leaseMs }: Scope): number {
  return leaseMs * random.pick([random.between(0, 0.3), random.between(0.3, 1), random.between(0.9, 1.2), random.between(1, 3)]);
}

/** How long a process stays away; undefined: for good. */
export function drawRestartMs(random: SeededRandom, { leaseMs }: Scope): number | undefined {
  return random.chance(0.8) ? leaseMs * random.pick([0, random.between(0, 0.5), random.between(0.5, 2)]) : undefined;
}

/** The store's own clock may show anything. */
export function storeClockIsWrong({ wrongClocks }: Scope): boolean {
  return wrongClocks === "store" || wrongClocks === "all";
}

/** By how much a clock steps: often about as far as makes a lease look expired, forward as well as back. */
export function drawStepMs(random: SeededRandom, { leaseMs }: Scope): number {
  const byMs = random.pick([leaseMs * random.between(0.9, 1.2), leaseMs * random.between(0, 2), random.between(0, 500), HOUR_MS]);
  return random.chance(0.7) ? byMs : -byMs;
}

import type { MishapKind } from "../faults/fault.ts";
import { afterResignation, drawAfterResignation, type AfterResignation } from "./resign.ts";

/** An administrator forces a new election. */
export interface Break extends AfterResignation {
  readonly kind: "break";
  readonly immediate: boolean;
  /** True if it names the term that it should end. */
  readonly aims: boolean;
}

export const breaking: MishapKind<Break> = {
  share: 2,
  draw: (random, scope) => ({
    kind: "break",
    immediate: random.chance(0.2),
    aims: random.chance(0.3),
    ...drawAfterResignation(random, scope),
  }),
  befall: (mishap, world) =>
    afterResignation(mishap, world, () => {
      const { highestTerm } = world.referee;
      const ifTerm = mishap.aims && highestTerm > 0 ? highestTerm : undefined;
      world.orders.break({ immediate: mishap.immediate, ifTerm });
    }),
};

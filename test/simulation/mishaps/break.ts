import { ELECTION } from "../stores/simulated-store.ts";
import type { MishapKind } from "./mishap.ts";

/** An administrator forces a re-election. */
export interface Break {
  readonly kind: "break";
  readonly immediate: boolean;
}

export const breaking: MishapKind<Break> = {
  share: 1,
  draw: (random) => ({ kind: "break", immediate: random.chance(0.3) }),
  befall: ({ immediate }, world) => {
    world.note("operator", immediate ? "breaks at once" : "breaks");
    const settled = immediate ? world.referee.exempt() : (): void => {};
    void world.operator().store.break(ELECTION, { reason: "why not", immediate }).then(settled, settled);
  },
};

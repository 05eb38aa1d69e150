import { drawStepMs, storeClockIsWrong, type MishapKind } from "../faults/fault.ts";

/** The service's own clock is set. */
export interface StoreClockStep {
  readonly kind: "store-clock-step";
  readonly byMs: number;
}

export const storeClockStep: MishapKind<StoreClockStep> = {
  share: 2,
  fits: storeClockIsWrong,
  draw: (random, scope) => ({ kind: "store-clock-step", byMs: drawStepMs(random, scope) }),
  befall: ({ byMs }, world) => {
    world.note("service", `its clock steps by ${Math.round(byMs)} ms`);
    world.store.stepClock?.(byMs);
  },
};

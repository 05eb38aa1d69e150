import { HOUR_MS, type MishapKind } from "./mishap.ts";

/** The service's own clock is set, where it has one that may step. */
export interface StoreClockStep {
  readonly kind: "store-clock-step";
  readonly byMs: number;
}

export const storeClockStep: MishapKind<StoreClockStep> = {
  share: 1,
  draw: (random, { leaseMs }) => ({
    kind: "store-clock-step",
    byMs: random.pick([-HOUR_MS, -leaseMs / 2, leaseMs / 2, HOUR_MS]),
  }),
  befall: ({ byMs }, world) => {
    world.note("service", `its clock steps by ${byMs} ms`);
    world.store.stepClock?.(byMs);
  },
};

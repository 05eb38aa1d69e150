import { drawStepMs, storeClockIsWrong, type MishapKind } from "../faults/fault.ts";

/** Another server takes over the service, with all data, and with a clock of its own. */
export interface ClockFailover {
  readonly kind: "clock-failover";
  /** The time by which the new server's clock is ahead of the old one's. */
  readonly aheadMs: number;
}

export const clockFailover: MishapKind<ClockFailover> = {
  share: 2,
  fits: storeClockIsWrong,
  draw: (random, scope) => ({ kind: "clock-failover", aheadMs: drawStepMs(random, scope) }),
  befall: ({ aheadMs }, world) => {
    world.note("service", `fails over to a server whose clock is ${Math.round(aheadMs)} ms ahead`);
    world.store.failOver?.(aheadMs);
  },
};

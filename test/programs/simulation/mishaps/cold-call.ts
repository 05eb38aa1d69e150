import type { CandidatePlan } from "../candidate-plan.ts";
import { NO_EXTREMES } from "../extreme-options.ts";
import { drawVictim, type MishapKind, type Victim } from "../faults/fault.ts";

/** An elector tries once: in a process without a memory, or in a candidate's process, on its store object. */
export interface ColdCall {
  readonly kind: "cold-call";
  readonly taskMs: number;
  /** The candidate in whose process it runs. */
  readonly with: Victim | undefined;
}

export const coldCall: MishapKind<ColdCall> = {
  share: 2,
  // It depends on the store's clock alone.
  fits: ({ store, wrongClocks }) => wrongClocks !== "all" && store !== "voting",
  draw: (random, scope) => ({
    kind: "cold-call",
    taskMs: random.between(0, 0.5) * scope.leaseMs,
    with: random.chance(0.2) ? drawVictim(random, scope) : undefined,
  }),
  befall: (mishap, world) => {
    const planned: CandidatePlan = {
      ...(world.plan.candidates[0] as CandidatePlan),
      expiry: undefined,
      releaseOnStop: true,
      options: NO_EXTREMES,
      lodges: undefined,
      observes: false,
    };
    const host = mishap.with === undefined ? undefined : world.victim(mishap.with);
    if (host && !host.clock.running) return;
    const caller = world.startCandidate(planned, `cold${world.everyone.size}`, host?.process);
    world.note(caller.id, host ? `tries once, on the store of ${host.id}` : "tries once");
    void caller.callOnce(mishap.taskMs);
  },
};

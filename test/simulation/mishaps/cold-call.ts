import type { CandidatePlan } from "../candidate-plan.ts";
import type { MishapKind } from "./mishap.ts";

/** A process without a memory tries once. */
export interface ColdCall {
  readonly kind: "cold-call";
  readonly taskMs: number;
}

export const coldCall: MishapKind<ColdCall> = {
  share: 2,
  draw: (random, { leaseMs }) => ({ kind: "cold-call", taskMs: random.between(0, 0.5) * leaseMs }),
  befall: ({ taskMs }, world) => {
    const planned: CandidatePlan = { ...(world.plan.candidates[0] as CandidatePlan), expiry: undefined, releaseOnStop: true };
    const caller = world.process(planned, `cold${world.everyone.size}`);
    world.note(caller.id, "tries once");
    void caller.callOnce(taskMs);
  },
};

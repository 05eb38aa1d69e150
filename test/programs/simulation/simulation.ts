import { seeEnd, seeRecovery, seeSuccession } from "./after-faults.ts";
import { seeLifting } from "./lifting.ts";
import type { FaultCounts } from "./network.ts";
import type { Plan } from "./plan.ts";
import { Violation } from "./violation.ts";
import { World, type HistoryLine } from "./world.ts";

/** The result of one run. */
export interface RunReport {
  readonly plan: Plan;
  readonly violation: Violation | undefined;
  readonly steps: number;
  readonly requests: number;
  readonly virtualMs: number;
  /** The number of terms that were given out. */
  readonly terms: number;
  readonly faults: FaultCounts;
  /** Everything that happened, if it was requested. */
  readonly history: readonly HistoryLine[];
}

/** Runs a plan, and checks the invariants after every step. The same plan gives the same history. */
export async function simulate(plan: Plan, options: { readonly history?: boolean } = {}): Promise<RunReport> {
  const world = new World(plan, options.history ?? false);
  let violation: Violation | undefined;
  try {
    world.begin();
    await world.until(() => world.calm, plan.calmAtMs);
    await seeRecovery(world);
    await seeSuccession(world);
    await seeLifting(world);
    await world.schedule.seeEverythingDone();
    await seeEnd(world);
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    violation = error;
    world.note("world", `VIOLATION ${error.message}`);
  }
  for (const { clock } of world.everyone) clock.kill();
  const { steps, requests, referee, faults, history = [] } = world;
  return { plan, violation, steps, requests, virtualMs: world.nowMs, terms: referee.terms, faults, history };
}

import { seeEnd, seeRecovery, seeSuccession } from "./aftermath.ts";
import { seeLifting } from "./lifting.ts";
import type { FaultCounts } from "./network.ts";
import type { Plan } from "./plan.ts";
import { Violation } from "./violation.ts";
import { World, type HistoryLine } from "./world.ts";

/** How one run went. */
export interface RunReport {
  readonly plan: Plan;
  readonly violation: Violation | undefined;
  readonly steps: number;
  readonly requests: number;
  readonly virtualMs: number;
  /** How many terms were given out. */
  readonly terms: number;
  readonly faults: FaultCounts;
  /** Everything that happened, if it was asked for. */
  readonly history: readonly HistoryLine[];
}

/** Runs a plan, and checks after every step what must always hold. The same plan gives the same history. */
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

import { Bystanders } from "./other-processes.ts";
import type { CandidatePlan } from "./candidate-plan.ts";
import { Line } from "./line.ts";
import type { World } from "./world.ts";

/** A process with candidates, and perhaps other electors on the same store object. */
export class SimulatedProcess extends Line {
  /** True for a machine that can be suspended. */
  readonly sleeps: boolean;
  readonly bystanders: Bystanders;
  /** The true time at which it ran again after its last freeze, and whether its monotonic clock had stopped. */
  thawed: { readonly atMs: number; readonly slept: boolean } | undefined;

  constructor(world: World, planned: CandidatePlan, id: string) {
    super(world, id, planned);
    this.sleeps = planned.sleeps;
    this.bystanders = new Bystanders(world, this, planned);
  }
}

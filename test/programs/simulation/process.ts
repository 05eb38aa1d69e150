import { Bystanders } from "./bystanders.ts";
import type { CandidatePlan } from "./candidate-plan.ts";
import { Line } from "./line.ts";
import type { World } from "./world.ts";

/** A process in which candidates live, and perhaps others on the same store object. */
export class SimulatedProcess extends Line {
  /** It is a machine that can be suspended. */
  readonly sleeps: boolean;
  readonly bystanders: Bystanders;
  /** When it began to run again after it was frozen last, by the true time; and whether its monotonic clock had stood still. */
  thawed: { readonly atMs: number; readonly slept: boolean } | undefined;

  constructor(world: World, planned: CandidatePlan, id: string) {
    super(world, id, planned);
    this.sleeps = planned.sleeps;
    this.bystanders = new Bystanders(world, this, planned);
  }
}

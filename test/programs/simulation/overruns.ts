import type { Candidate } from "./candidate.ts";
import { SLOWEST_RATE } from "./stores/simulated-store.ts";
import type { World } from "./world.ts";

/** Half of the safety margin, which a task gets once nothing covers it, and as much again for clocks that differ. */
const GRACE_LEASES = 0.1;
/** The time in which a process that was suspended notices its wall clock. See CLOCK_CHECK_MS in `term-machine.ts`. */
const NOTICES_WITHIN_MS = 1_100 / SLOWEST_RATE;

/** Finds tasks that continue although a rival could have led for a while, and that were not reported as an overrun. */
export class Overruns {
  readonly #world: World;
  /** The true time since which nothing has covered a candidate's task while its process ran. */
  readonly #uncoveredMs = new Map<Candidate, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Returns the candidates whose process would continue beside a successor, although it should end. */
  untold(): Candidate[] {
    const { everyone, nowMs, store } = this.#world;
    const untold: Candidate[] = [];
    for (const candidate of everyone) {
      const { leadership, pending, overranTerm } = candidate;
      const goesOn = leadership !== undefined && pending > 0 && candidate.clock.running && overranTerm !== leadership.term;
      if (!goesOn || nowMs < store.barredUntilMs(leadership.termId)) {
        this.#uncoveredMs.delete(candidate);
        continue;
      }
      const sinceMs = this.#uncoveredMs.get(candidate) ?? nowMs;
      this.#uncoveredMs.set(candidate, sinceMs);
      const { leaseDurationMs } = candidate.elector.timing;
      if (nowMs - sinceMs > GRACE_LEASES * leaseDurationMs + NOTICES_WITHIN_MS) untold.push(candidate);
    }
    return untold;
  }
}

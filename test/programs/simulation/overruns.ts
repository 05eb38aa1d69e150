import type { Candidate } from "./candidate.ts";
import { SLOWEST_RATE } from "./stores/simulated-store.ts";
import type { World } from "./world.ts";

/** Half of the safety margin, which a task gets once nothing covers it, and as much again for clocks that differ. */
const GRACE_LEASES = 0.1;
/** How long a process that was suspended may take to notice what its wall clock says; see CLOCK_CHECK_MS of `term-machine.ts`. */
const NOTICES_WITHIN_MS = 1_100 / SLOWEST_RATE;

/** Finds tasks that go on although a rival could lead for a while already, and of which nobody was told as an overrun. */
export class Overruns {
  readonly #world: World;
  /** Since when, by the true time, nothing has covered a candidate's task while its process ran. */
  readonly #uncoveredMs = new Map<Candidate, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** The candidates whose process would go on beside a successor, though it was to end. */
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

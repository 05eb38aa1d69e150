/** What one run of orders at random came to, where a seed decides everything. */
export interface RandomRun {
  readonly plan: { readonly seed: number; readonly store: string };
  readonly violation: Broken | undefined;
  /** What was asked of it, or befell it. */
  readonly steps: number;
  readonly requests: number;
  readonly virtualMs: number;
  readonly terms: number;
  readonly faults: ReadonlyMap<string, number>;
  /** Everything that happened, if it was asked for. */
  readonly history: readonly string[];
}

/** One rule was broken, by its name in the simulation: it ends the run. */
export class Broken extends Error {
  readonly invariant: string;

  constructor(invariant: string, what: string) {
    super(`${invariant}: ${what}`);
    this.invariant = invariant;
  }
}

/** Returns what has broken a rule while something was played; `undefined` if nothing has. */
export async function violationIn(play: () => Promise<void>): Promise<Broken | undefined> {
  try {
    await play();
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    return error;
  }
  return undefined;
}

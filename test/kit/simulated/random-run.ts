/** The result of one run of random orders, in which a seed decides everything. */
export interface RandomRun {
  readonly plan: { readonly seed: number; readonly store: string };
  readonly violation: Broken | undefined;
  /** The number of orders and faults. */
  readonly steps: number;
  readonly requests: number;
  readonly virtualMs: number;
  readonly terms: number;
  readonly faults: ReadonlyMap<string, number>;
  /** Everything that happened, if the caller asked for it. */
  readonly history: readonly string[];
}

/** The error of a broken rule, with the rule's name in the simulation. It ends the run. */
export class Broken extends Error {
  readonly invariant: string;

  constructor(invariant: string, what: string) {
    super(`${invariant}: ${what}`);
    this.invariant = invariant;
  }
}

/** Returns the broken rule of a run; `undefined` if there is none. */
export async function violationIn(play: () => Promise<void>): Promise<Broken | undefined> {
  try {
    await play();
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    return error;
  }
  return undefined;
}

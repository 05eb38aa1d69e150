/** The counted facts of one run. */
export interface CountedRun {
  readonly plan: { readonly seed: number; readonly store: string };
  readonly violation: { readonly invariant: string; readonly message: string } | undefined;
  readonly steps: number;
  readonly requests: number;
  readonly virtualMs: number;
  readonly terms: number;
  readonly faults: ReadonlyMap<string, number>;
}

/** The results of many runs. It is plain data, because threads send it to each other. */
export interface Tally {
  runs: number;
  steps: number;
  requests: number;
  virtualMs: number;
  /** Terms given out, which are changes of the leader, in all runs. */
  terms: number;
  faults: Record<string, number>;
  runsByStore: Record<string, number>;
  /** The seeds of runs that broke an invariant, and the violations. */
  violations: Array<{ readonly seed: number; readonly what: string }>;
}

export function emptyTally(): Tally {
  return { runs: 0, steps: 0, requests: 0, virtualMs: 0, terms: 0, faults: {}, runsByStore: {}, violations: [] };
}

/** Counts one more run. */
export function countRun(tally: Tally, report: CountedRun): void {
  const { plan, violation, faults } = report;
  tally.runs += 1;
  tally.steps += report.steps;
  tally.requests += report.requests;
  tally.virtualMs += report.virtualMs;
  tally.terms += report.terms;
  for (const [fault, count] of faults) tally.faults[fault] = (tally.faults[fault] ?? 0) + count;
  tally.runsByStore[plan.store] = (tally.runsByStore[plan.store] ?? 0) + 1;
  if (violation) tally.violations.push({ seed: plan.seed, what: violation.message });
}

/** Adds the counts of another thread. */
export function addTally(sum: Tally, other: Tally): void {
  for (const key of ["runs", "steps", "requests", "virtualMs", "terms"] as const) sum[key] += other[key];
  for (const key of ["faults", "runsByStore"] as const) {
    for (const [name, count] of Object.entries(other[key])) sum[key][name] = (sum[key][name] ?? 0) + count;
  }
  sum.violations.push(...other.violations);
}

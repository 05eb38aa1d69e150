import type { StoreName } from "@leasehold/test-kit/stores/stores";
import type { Figures, Verdict } from "./check.ts";

/** The figures of one store, over all episodes. */
export class Tally {
  readonly store: StoreName;
  #episodes = 0;
  #rounds = 0;
  #leaderChanges = 0;
  #longestGapMs = 0;
  #longestReturnMs = 0;
  #leaderBackMs = 0;
  #writes = 0;
  #refused = 0;
  readonly #faults = new Map<string, number>();
  readonly #problems = new Map<keyof Verdict, number>();

  constructor(store: StoreName) {
    this.store = store;
  }

  add(figures: Figures, verdict: Verdict, leaderBackMs: number): void {
    this.#episodes += 1;
    this.#rounds += figures.rounds;
    this.#leaderChanges += figures.leaderChanges;
    this.#longestGapMs = Math.max(this.#longestGapMs, figures.longestGapMs);
    this.#longestReturnMs = Math.max(this.#longestReturnMs, figures.longestReturnMs);
    this.#leaderBackMs = leaderBackMs;
    this.#writes += figures.writes;
    this.#refused += figures.refused;
    for (const [kind, count] of figures.faults) this.#faults.set(kind, (this.#faults.get(kind) ?? 0) + count);
    for (const [kind, problems] of Object.entries(verdict) as Array<[keyof Verdict, readonly string[]]>) {
      this.#problems.set(kind, (this.#problems.get(kind) ?? 0) + problems.length);
    }
  }

  /** Returns the figures as a text for people. */
  toString(): string {
    const faults = [...this.#faults].toSorted(([one], [other]) => one.localeCompare(other));
    const injected = faults.reduce((sum, [, count]) => sum + count, 0);
    const rows: ReadonlyArray<readonly [string, string | number]> = [
      ["elections", this.#episodes],
      ["rounds", this.#rounds],
      ["faults", injected],
      ...faults.map(([kind, count]) => [`  ${kind}`, count] as const),
      ["leader changes", this.#leaderChanges],
      ["longest gap without a leader, faults included", seconds(this.#longestGapMs)],
      [
        "longest wait for a leader after faults",
        `${seconds(this.#longestReturnMs)} (${seconds(this.#leaderBackMs)} on an idle machine)`,
      ],
      ["writes confirmed", this.#writes],
      ["writes refused to stale leaders", this.#refused],
      ["overlaps", this.#count("overlaps")],
      ["late signals", this.#count("lateSignals")],
      ["stale writes accepted", this.#count("staleWrites")],
      ["lost writes", this.#count("lostWrites")],
      ["leaders not back", this.#count("missingLeaders")],
      ["stores not written anew", this.#count("unhealed")],
      ["unexpected", this.#count("unexpected")],
    ];
    return [this.store, ...rows.map(([name, value]) => `  ${name.padEnd(46)} ${value}`)].join("\n");
  }

  #count(kind: keyof Verdict): number {
    return this.#problems.get(kind) ?? 0;
  }
}

function seconds(ms: number): string {
  return ms === Infinity ? "for ever" : `${(ms / 1_000).toFixed(1)} s`;
}

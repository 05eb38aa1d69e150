import type { CandidateLine } from "./candidate.ts";

/** A time in which a process ran and believed that it led. */
export interface Spell {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Returns the spells of one process. `lines` are all its lines until `nowMs`, or until its end. */
export function spellsOf(lines: readonly CandidateLine[], nowMs: number): Spell[] {
  const spells: Spell[] = [];
  let fromMs: number | undefined;
  const over = (toMs: number): void => {
    if (fromMs !== undefined) spells.push({ fromMs, toMs });
    fromMs = undefined;
  };
  for (const line of lines) {
    if (line.event === "leads") fromMs = line.atMs;
    else if (line.event === "leads-no-more") over(line.lastMs);
    else if (line.event === "thawed") {
      over(line.lastMs);
      if (line.leads) fromMs = line.atMs;
    }
  }
  over(nowMs);
  return spells;
}

/** Returns for how long, between two instants, two of the processes believed at the same time that they led. */
export function overlapMs(processes: ReadonlyArray<readonly Spell[]>, fromMs: number, toMs: number): number {
  let sum = 0;
  for (const [at, spells] of processes.entries()) {
    for (const one of spells) {
      for (const other of processes.slice(at + 1).flat()) {
        sum += Math.max(0, Math.min(one.toMs, other.toMs, toMs) - Math.max(one.fromMs, other.fromMs, fromMs));
      }
    }
  }
  return sum;
}

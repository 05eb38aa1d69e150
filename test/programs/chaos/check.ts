import type { EpisodeLog, WorkerLog } from "./episode-log.ts";
import { lateSignals, overlaps } from "./check-leaders.ts";
import { lostWrites, staleWrites } from "./check-register.ts";
import { gapsWithout, missingLeaders } from "./check-gaps.ts";
import { unexpectedEnds } from "./check-ends.ts";

/** The violations of an episode, as texts by kind. All lists are empty if there is none. */
export interface Verdict {
  /** Two workers were valid at once, or had the same term, or terms fell. */
  readonly overlaps: readonly string[];
  /** The signal of a worker that ran had not aborted before the next term began. */
  readonly lateSignals: readonly string[];
  /** A write was accepted for a term that was over. */
  readonly staleWrites: readonly string[];
  /** A confirmed write is missing, or an entry was never written, or is there twice. */
  readonly lostWrites: readonly string[];
  /** There was no leader after all faults were over. */
  readonly missingLeaders: readonly string[];
  /** One of several stores did not get the election's record back. */
  readonly unhealed: readonly string[];
  /** A process ended by itself, or wrote output that it must never write. */
  readonly unexpected: readonly string[];
}

/** The figures of an episode. */
export interface Figures {
  readonly rounds: number;
  /** Faults by kind. `task-failed` are those of the workers' own tasks. */
  readonly faults: ReadonlyMap<string, number>;
  readonly leaderChanges: number;
  /** The longest time without a leader, with faults. */
  readonly longestGapMs: number;
  /** The longest time from the end of a round's faults to the next sign of a leader. */
  readonly longestReturnMs: number;
  readonly writes: number;
  /** Writes that the service refused to a stale leader. */
  readonly refused: number;
}

/** Judges an episode by the output of its processes and the contents of the register. */
export function judge(log: EpisodeLog): Verdict {
  return {
    overlaps: overlaps(log),
    lateSignals: lateSignals(log),
    staleWrites: staleWrites(log),
    lostWrites: lostWrites(log),
    missingLeaders: missingLeaders(log),
    unhealed: log.unhealed,
    unexpected: unexpectedEnds(log),
  };
}

/** Returns all violations. */
export function problemsOf(verdict: Verdict): readonly string[] {
  return Object.entries(verdict).flatMap(([kind, problems]: [string, readonly string[]]) =>
    problems.map((problem) => `${kind}: ${problem}`),
  );
}

export function figuresOf(log: EpisodeLog): Figures {
  const faults = new Map<string, number>();
  const count = (kind: string): void => void faults.set(kind, (faults.get(kind) ?? 0) + 1);
  for (const { kind } of log.injected) count(kind);
  const lines = log.workers.flatMap((worker: WorkerLog) => worker.lines);
  for (const { event } of lines) if (event === "runRejected") count("task-failed");
  const outcomes = lines.flatMap((line) => (line.event === "appended" ? [line.outcome] : []));
  return {
    // The first one is the beginning of the election.
    rounds: Math.max(log.healedMs.length - 1, 0),
    faults,
    leaderChanges: Math.max(lines.filter(({ event }) => event === "taskStarted").length - 1, 0),
    ...gapsWithout(log),
    writes: outcomes.filter((outcome) => outcome === "ok").length,
    refused: outcomes.filter((outcome) => outcome === "refused").length,
  };
}

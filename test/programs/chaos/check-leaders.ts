import { ledTerms, type LineOf } from "@leasehold/test-kit/candidates/history";
import { judge, type LedTerm } from "@leasehold/test-kit/judge";
import type { EpisodeLog } from "./episode-log.ts";

/** Returns faults of the history of leaders: see {@link judge}. */
export function overlaps(log: EpisodeLog): readonly string[] {
  return judge(reignsOf(log), startsOf(log));
}

/**
 * Returns signals that came late. A worker's signal was late if the worker ran, checked it after the next term had begun, and
 * found it not aborted. A process that was frozen, blocked or not scheduled checks only afterwards. So there is no tolerance.
 */
export function lateSignals(log: EpisodeLog): readonly string[] {
  const starts = startsOf(log);
  return log.workers.flatMap(({ worker, lines }) =>
    lines
      .filter((line): line is LineOf<"aborted"> => line.event === "aborted")
      .flatMap(({ term, lastUnabortedMs }) => {
        const next = starts.filter((start) => start.term > term && start.atMs < lastUnabortedMs)[0];
        if (!next) return [];
        const lateMs = (lastUnabortedMs - next.atMs).toFixed(1);
        return [
          `the signal of ${worker} in term ${term} had not aborted ${lateMs} ms after ${next.candidateId} led in term ${next.term}`,
        ];
      }),
  );
}

/**
 * Returns the times in which each worker that asks believed that it led. A killed worker believes nothing from then on, or since
 * it was frozen, even if its end is noticed late.
 */
function reignsOf({ workers, injected, endedMs }: EpisodeLog): readonly LedTerm[] {
  return workers.flatMap(({ worker, lines }) => {
    const killed = injected.find((each) => (each.kind === "kill" || each.kind === "freeze-and-kill") && each.worker === worker);
    // Beyond the end: a process that did not report its end counts as still leading.
    return ledTerms(worker, lines, Math.max(endedMs, lines.at(-1)?.atMs ?? 0)).map((ledTerm) => ({
      ...ledTerm,
      toMs: Math.min(ledTerm.toMs, killed?.fromMs ?? Infinity),
    }));
  });
}

/**
 * Returns the beginnings of all terms. A term that was not valid at its start, because its worker had been frozen, does not
 * count.
 */
function startsOf({ workers }: EpisodeLog): ReadonlyArray<Pick<LedTerm, "candidateId" | "term"> & { readonly atMs: number }> {
  return workers.flatMap(({ worker, lines }) =>
    lines
      .filter((line): line is LineOf<"taskStarted"> => line.event === "taskStarted" && line.valid)
      .map(({ term, atMs }) => ({ candidateId: worker, term, atMs })),
  );
}

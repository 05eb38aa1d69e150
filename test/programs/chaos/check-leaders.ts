import { overlapMs, reigns, type LineOf, type Reign } from "@leasehold/test-kit/candidates/history";
import type { EpisodeLog } from "./episode-log.ts";

/** Two that were valid at once, as far as they asked; terms that two had, and terms that fell. */
export function overlaps(log: EpisodeLog): readonly string[] {
  const all = reignsOf(log).toSorted((one, other) => one.fromMs - other.fromMs);
  const valid = all.flatMap((one, at) =>
    all.slice(at + 1).flatMap((other) => {
      const bothMs = overlapMs(one, other);
      return bothMs > 0 ? [`${named(one)} and ${named(other)} were valid at once for ${bothMs.toFixed(1)} ms`] : [];
    }),
  );
  const starts = startsOf(log).toSorted((one, other) => one.atMs - other.atMs);
  const terms = starts.flatMap((start, at) => {
    const before = starts[at - 1];
    if (!before || before.term < start.term) return [];
    if (before.term > start.term) return [`${named(start)} came after ${named(before)}`];
    return [`${named(before)} and ${named(start)} had the same term`];
  });
  return [...valid, ...terms];
}

/**
 * Signals that came late. A worker is only blamed if it ran, looked after the next term had begun, and found that its
 * signal had not aborted: a process that was frozen or blocked, or that the machine let wait, looks only afterwards. So
 * there is no tolerance.
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
 * While each worker that asks believed that it led. One that is killed believes nothing any more, from then on or since
 * it was frozen, however late its end is noticed.
 */
function reignsOf({ workers, injected, endedMs }: EpisodeLog): readonly Reign[] {
  return workers.flatMap(({ worker, lines }) => {
    const killed = injected.find((each) => (each.kind === "kill" || each.kind === "freeze-and-kill") && each.worker === worker);
    // Beyond the end: a process that has said nothing of its end is thought to lead still.
    return reigns(worker, lines, Math.max(endedMs, lines.at(-1)?.atMs ?? 0)).map((reign) => ({
      ...reign,
      toMs: Math.min(reign.toMs, killed?.fromMs ?? Infinity),
    }));
  });
}

/** The beginnings of all terms. One whose worker was frozen in the meantime has begun for nobody. */
function startsOf({ workers }: EpisodeLog): ReadonlyArray<Pick<Reign, "candidateId" | "term"> & { readonly atMs: number }> {
  return workers.flatMap(({ worker, lines }) =>
    lines
      .filter((line): line is LineOf<"taskStarted"> => line.event === "taskStarted" && line.valid)
      .map(({ term, atMs }) => ({ candidateId: worker, term, atMs })),
  );
}

function named({ candidateId, term }: Pick<Reign, "candidateId" | "term">): string {
  return `${candidateId} in term ${term}`;
}

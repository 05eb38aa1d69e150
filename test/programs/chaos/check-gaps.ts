import type { Line } from "@leasehold/test-kit/candidates/history";
import type { EpisodeLog } from "./episode-log.ts";
import { Leading } from "./leading.ts";

/** Returns the rounds after which no worker showed that it led, although the episode waited. */
export function missingLeaders(log: EpisodeLog): readonly string[] {
  return returnsOf(log).flatMap((returnMs, round) => {
    if (returnMs < Infinity) return [];
    const when = round === 0 ? "the beginning" : `the faults of round ${round} were over`;
    return [`after ${when} nobody led; on an idle machine it takes ${log.leaderBackMs.toFixed(0)} ms`];
  });
}

/** Returns the longest time without a leader, and the longest one after a round's faults. */
export function gapsWithout(log: EpisodeLog): { readonly longestGapMs: number; readonly longestReturnMs: number } {
  const covered = log.workers
    .flatMap(({ lines }) => termsOf(lines, log.endedMs))
    .toSorted((one, other) => one.fromMs - other.fromMs);
  let untilMs = covered[0]?.fromMs ?? log.endedMs;
  let longestGapMs = 0;
  for (const { fromMs, toMs } of [...covered, { fromMs: log.endedMs, toMs: log.endedMs }]) {
    longestGapMs = Math.max(longestGapMs, Math.min(fromMs, log.endedMs) - untilMs);
    untilMs = Math.max(untilMs, toMs);
  }
  return { longestGapMs, longestReturnMs: Math.max(0, ...returnsOf(log)) };
}

/** Returns the times in which a worker led, from the start of its task to the end of its term. */
function termsOf(lines: readonly Line[], endedMs: number): Array<{ readonly fromMs: number; readonly toMs: number }> {
  const leading = new Leading();
  const terms: Array<{ readonly fromMs: number; toMs: number }> = [];
  for (const line of lines) {
    const { leads } = leading;
    leading.shows(line);
    const term = terms.at(-1);
    if (leading.leads && !leads) terms.push({ fromMs: line.atMs, toMs: endedMs });
    // A worker that did not run found this out later.
    else if (leads && !leading.leads && term) term.toMs = line.event === "invalid" ? line.lastValidMs : line.atMs;
  }
  return terms;
}

/** Returns the time after each round until a worker showed that it led; Infinity if none did before the end. */
function returnsOf({ workers, healedMs, endedMs }: EpisodeLog): readonly number[] {
  const signs = workers
    .flatMap(({ lines }) => {
      const leading = new Leading();
      return lines.filter((line) => leading.shows(line)).map(({ atMs }) => atMs);
    })
    .toSorted((one, other) => one - other);
  return healedMs.map((sinceMs) => {
    const sign = signs.find((atMs) => atMs > sinceMs);
    return sign === undefined || sign > endedMs ? Infinity : sign - sinceMs;
  });
}

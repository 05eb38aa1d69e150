import type { ListedElection, PastTerm } from "@leasehold/core";
import { isoOf } from "@leasehold/core/provider";
import { formatDuration } from "./duration.ts";
import { table, textOfLines } from "./table.ts";
import { clipped, printable } from "./text.ts";

/** Returns a table of the last terms that the records keep, the latest first. Empty if they keep none. */
export function historyTable(found: readonly ListedElection[]): string {
  const rows = found.flatMap((each) =>
    each.state === "foreign" ? [] : (each.history ?? []).toReversed().map((past) => cellsOf(printable(each.election), past)),
  );
  return textOfLines(table(["ELECTION", "TERM", "LEADER", "SINCE", "LASTED", "END"], rows));
}

function cellsOf(election: string, { term, candidateId, sinceMs, untilMs, end }: PastTerm): readonly string[] {
  // The wall clock may have stepped back, or the end is of another process's clock.
  const lasted = untilMs === undefined ? "" : formatDuration(Math.max(untilMs - sinceMs, 0));
  return [election, String(term), clipped(printable(candidateId)), isoOf(sinceMs), lasted, end ?? "leads"];
}

import type { Span } from "@leasehold/test-kit/judge";
import type { CandidateLine } from "./candidate.ts";

/** Returns the times in which one process ran and believed that it led. `lines` are all its lines until `nowMs`, or until its end. */
export function spellsOf(lines: readonly CandidateLine[], nowMs: number): Span[] {
  const spells: Span[] = [];
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

import type { Evidence, Expectation } from "./expectations.ts";
import type { Story } from "./story.ts";
import type { Takeover } from "./takeover.ts";
import { overlapMs, reignsOf, type LedTerm } from "./timeline.ts";

/** The result of the demo. */
export interface Summary {
  /** Every expectation held. */
  readonly ok: boolean;
  readonly takeovers: readonly Takeover[];
  readonly overlapMs: number;
  readonly ledTerms: readonly LedTerm[];
  readonly expectations: readonly Expectation[];
  /** The path of the timeline's picture. */
  readonly picture: string | null;
}

/** @param story has the expectations. @param failure the reason why the demo did not come to its end, if it did not. */
export function summarize(story: Story, evidence: Evidence, picture: string | null, failure?: Error): Summary {
  const expectations = story.judge(evidence);
  if (failure) expectations.unshift({ expected: "the demo comes to its end", held: false, found: failure.message });
  const ledTerms = reignsOf(evidence.events);
  return {
    ok: expectations.every(({ held }) => held),
    takeovers: evidence.takeovers,
    overlapMs: overlapMs(ledTerms),
    ledTerms,
    expectations,
    picture,
  };
}

import { overlapMs, type LedTerm } from "@leasehold/test-kit/judge";
import { formatMs, judgeWorkers, type Evidence, type Expectation } from "./expectations.ts";
import { seconds } from "./narration.ts";
import type { Takeover } from "./takeover.ts";
import { ledTermsOf } from "./timeline.ts";
import type { Style } from "./views.ts";

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

/** @param failure the reason why the demo did not come to its end, if it did not. */
export function summarize(evidence: Evidence, picture: string | null, failure?: Error): Summary {
  const expectations = judgeWorkers(evidence);
  if (failure) expectations.unshift({ expected: "the demo comes to its end", held: false, found: failure.message });
  const ledTerms = ledTermsOf(evidence.events);
  const ok = expectations.every(({ held }) => held);
  return { ok, takeovers: evidence.takeovers, overlapMs: overlapMs(ledTerms), ledTerms, expectations, picture };
}

/** Returns the summary as text for people. */
export function summaryText(summary: Summary, paint: (style: Style, text: string) => string): string {
  const { takeovers, expectations, ok, picture } = summary;
  const failed = expectations.filter(({ held }) => !held).length;
  return [
    "",
    ...(takeovers.length > 0
      ? [paint("bold", "Takeovers"), ...takeovers.map((takeover) => `  ${takeoverText(takeover)}`), ""]
      : []),
    `${paint("bold", "Overlap of leaders:")} ${paint(summary.overlapMs === 0 ? "green" : "red", formatMs(summary.overlapMs))}`,
    paint("dim", "  by their own logs of isValid(), where the dead and the frozen count for as long as it could be true"),
    "",
    paint("bold", "Expectations"),
    ...expectations.map(({ expected, held, found }) => {
      const mark = held ? paint("green", "held  ") : paint("red", "FAILED");
      return `  ${mark}  ${expected}: ${paint(held ? "dim" : "red", found)}`;
    }),
    "",
    ok
      ? paint("green", `All ${expectations.length} expectations held.`)
      : paint("red", `${failed} of ${expectations.length} expectations failed.`),
    ...(picture === null ? [] : [`Picture of the timeline: ${picture}`]),
    "",
  ].join("\n");
}

function takeoverText({ cause, from, to, ms, leases, since, sinceSignalMs }: Takeover): string {
  const what = `${cause.padEnd(8)}  ${from} to ${to}`;
  const counted = since === "renewal" ? "after the last renewal" : "after the release";
  const signal = { crash: "SIGKILL", handover: "SIGTERM", freeze: "SIGSTOP", "cut-off": "the cut" }[cause];
  return `${what}  ${formatMs(ms).padStart(9)} = ${leases.toFixed(2)} leases ${counted}, ${seconds(sinceSignalMs)} after ${signal}`;
}

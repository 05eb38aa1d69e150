import { formatMs } from "./expectations.ts";
import { seconds } from "./narration.ts";
import type { Paint } from "./paint.ts";
import type { Summary } from "./summary.ts";
import type { Takeover } from "./takeover.ts";

/** Returns the summary as text for people. */
export function summaryText(summary: Summary, paint: Paint): string {
  const { takeovers, expectations, ok, picture } = summary;
  const failed = expectations.filter(({ held }) => !held).length;
  return [
    "",
    ...(takeovers.length === 0
      ? []
      : [paint("bold", "Takeovers"), ...takeovers.map((takeover) => `  ${takeoverText(takeover, paint)}`), ""]),
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

function takeoverText({ cause, from, to, ms, leases, since, sinceSignalMs }: Takeover, paint: Paint): string {
  const what = `${cause.padEnd(8)}  ${from} to ${to}`;
  const time = paint("bold", `${formatMs(ms).padStart(9)} = ${leases.toFixed(2)} leases`);
  const counted = since === "renewal" ? "after the last renewal" : "after the release";
  const signal = { crash: "SIGKILL", handover: "SIGTERM", freeze: "SIGSTOP", "cut-off": "the cut" }[cause];
  return `${what}  ${time} ${counted}, ${seconds(sinceSignalMs)} after ${signal}`;
}

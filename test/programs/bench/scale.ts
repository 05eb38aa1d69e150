import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { heldLeases } from "./held.ts";
import type { ScaleReport, Start } from "./scale-process.ts";
import type { Result, Section } from "./section.ts";
import { summarize } from "./statistics.ts";

const ELECTORS = 10_000;
/** Three times the usual time. If there are too many electors for one processor, they lose their leases again and again. */
const REPORTS_WITHIN_MS = 180_000;
/** A process that something keeps alive would never end. */
const ENDS_WITHIN_MS = 10_000;

export const scale: Section = {
  name: "scale",
  about: `${ELECTORS.toLocaleString("en-US")} electors that lead, in one process on one memory store; 1,000 through an SDK, and the SDK alone`,
  meaning:
    "What an elector costs while it leads, beyond its record in the store. Their renewals are spread over the interval if " +
    "their starts were; electors that start at once also renew at once, which shows as the longest delay of the event loop. " +
    "What the SDK alone takes for as many leases, begun at once as well, is nobody's to save but its makers'.",
  takesS: 320,
  async measure() {
    return [
      ...results("started over 15 s", await measured("spread")),
      ...results("started at once", await measured("at-once")),
      ...(await heldLeases()),
    ];
  },
};

function results(how: string, report: EndedReport): Result[] {
  const { idleDelay, leadingDelay } = report;
  const figure = (measure: string, unit: string, value: number, n: number, goal?: number): Result => ({
    measure: `${how}: ${measure}`,
    unit,
    ...summarize([value]),
    n,
    goal,
  });
  return [
    figure("heap", "KB per elector", report.heapPerElector / 1_024, ELECTORS, 10),
    figure("resident memory", "KB per elector", report.rssPerElector / 1_024, ELECTORS, 50),
    figure("event-loop delay, p50", "x idle", leadingDelay.p50 / idleDelay.p50, leadingDelay.count),
    figure("event-loop delay, p99", "x idle", leadingDelay.p99 / idleDelay.p99, leadingDelay.count),
    figure("event-loop delay, max", "x idle", leadingDelay.max / idleDelay.max, leadingDelay.count),
    figure("CPU of a renewal", "x a put by a timer of its own", report.cpuPerRenewal / report.cpuPerTimedPut, report.renewals),
    figure("CPU of a renewal", "x a put in a loop", report.cpuPerRenewal / report.cpuPerLoopedPut, report.renewals),
    figure("leaderships lost", "electors", report.lost, ELECTORS, 0),
    figure("heap left after stopping all", "x what they took", report.heapLeftPerElector / report.heapPerElector, ELECTORS, 0.02),
    figure("timers left", "timers", report.timersLeft, ELECTORS, 0),
    figure("process ends by itself after", "s", report.endsAfterMs / 1_000, 1),
  ];
}

/** The report of the process, and how long after it the process ended. */
interface EndedReport extends ScaleReport {
  readonly endsAfterMs: number;
}

/** Runs `scale-process.ts`, which has a heap of its own, and waits for its end. */
async function measured(start: Start): Promise<EndedReport> {
  const script = fileURLToPath(new URL("./scale-process.ts", import.meta.url));
  const args = ["--expose-gc", "--conditions=@leasehold/source", script, String(ELECTORS), start];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let reportedMs = 0;
  let limit = setTimeout(() => child.kill("SIGKILL"), REPORTS_WITHIN_MS);
  child.stdout.once("data", () => {
    reportedMs = performance.now();
    clearTimeout(limit);
    limit = setTimeout(() => child.kill("SIGKILL"), ENDS_WITHIN_MS);
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit") as Promise<[number | null]>]);
  clearTimeout(limit);
  if (reportedMs === 0)
    throw new Error(`The process of many electors had nothing to report within ${REPORTS_WITHIN_MS} ms (code ${code}).`);
  if (code !== 0)
    throw new Error(`The process of many electors did not end by itself within ${ENDS_WITHIN_MS} ms, or failed (code ${code}).`);
  return { ...(JSON.parse(output) as ScaleReport), endsAfterMs: performance.now() - reportedMs };
}

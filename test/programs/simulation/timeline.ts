import type { Plan } from "./plan.ts";
import type { RunReport } from "./simulation.ts";
import type { HistoryLine } from "./world.ts";

/** Prints a run for people: the plan, and its events line by line. */
export function printTimeline({ plan, history, violation }: RunReport): string {
  return [
    ...planLines(plan),
    "",
    ...history.map(line),
    "",
    violation ? `broken: ${violation.message}` : "nothing was broken",
  ].join("\n");
}

function planLines({ store, timing, candidates, networkFaults, mishaps, calmAtMs, ...plan }: Plan): string[] {
  const { serviceRate, wrongClocks, controlPlane, twins, asks } = plan;
  const likely = Object.entries(networkFaults).filter(([, probability]) => probability > 0);
  return [
    `store: ${store}${serviceRate === 1 ? "" : `, whose clock runs at ${serviceRate.toFixed(3)}`}`,
    `clocks that may be wrong: ${wrongClocks}`,
    ...(controlPlane === "well" ? [] : [`control plane: ${controlPlane}`]),
    `times: ${entries(timing)}; calm at ${seconds(calmAtMs)} s`,
    ...candidates.map((candidate, index) => `candidate c${twins && index === 1 ? 0 : index}: ${entries(candidate)}`),
    `weather: ${likely.map(([name, probability]) => `${name} ${(100 * probability).toFixed(0)} %`).join(", ") || "fair"}`,
    ...mishaps.map(({ atMs, ...mishap }) => `planned at ${seconds(atMs)} s: ${entries(mishap)}`),
    asks ? "every leadership is asked for its validity after each step" : "nobody asks a leadership for its validity",
  ];
}

function line({ atMs, actor, what }: HistoryLine): string {
  return `${seconds(atMs).padStart(9)}  ${actor.padEnd(8)}  ${what}`;
}

function entries(fields: object): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]: [string, unknown]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : rounded(value)}`)
    .join(", ");
}

function rounded(value: unknown): string {
  return String(typeof value === "number" ? Number(value.toFixed(3)) : value);
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3);
}

import type { Failover } from "./failover.ts";
import { azuriteFailovers } from "./score-azurite.ts";
import { polledFailovers, polledHandovers } from "./score-polled.ts";
import type { Result, Section } from "./section.ts";
import { summarize } from "./statistics.ts";

/**
 * A tenth of the product for blind polling. One poll every P seconds causes P s of extra failover, and 3600 / P requests an hour.
 */
const GOAL = 360;
const VIRTUAL_RUNS = 300;
const AZURITE_ELECTIONS = 4;
/** How long the tasks of stopping leaders take to settle. */
const DRAINS_MS = [0, 500];

export const merit: Section = {
  name: "merit",
  about: "worst extra failover in seconds x requests an hour of a standby, one leader that crashes and one standby",
  meaning:
    "Blind polling gives 3,600 whatever its period, and the goal is a tenth. A waiting standby costs the second factor; " +
    "a crash costs the first on top of the lease. Clocks here run at one rate.",
  takesS: 110,
  async measure() {
    return [
      ...results("polled record store, virtual", await polledFailovers(VIRTUAL_RUNS, "sharp")),
      ...results("polled, crash in the first minute", await polledFailovers(VIRTUAL_RUNS, "learning"), { brief: true }),
      ...(await handovers()),
      ...results("azure-blob on Azurite", await azuriteFailovers(AZURITE_ELECTIONS)),
    ];
  },
};

/** Measures the time from the end of the leader's task to the start of the standby's term, after a stop at any time. */
async function handovers(): Promise<Result[]> {
  const found: Result[] = [];
  for (const planned of [false, true]) {
    for (const drainMs of DRAINS_MS) {
      const all = await polledHandovers(VIRTUAL_RUNS, { planned, drainMs });
      const of = `polled, ${planned ? "planned stop" : "stop"}, task settles in ${drainMs} ms`;
      const goal = planned && drainMs === 0 ? 200 : undefined;
      found.push({ measure: `${of}: nobody leads`, unit: "ms", goal, ...summarize(all.map(({ vacantMs }) => vacantMs)) });
      found.push({ measure: "  the stop takes", unit: "ms", ...summarize(all.map(({ stopMs }) => stopMs)) });
      found.push({ measure: "  standby", unit: "requests/h", ...summarize(all.map((each) => each.requestsPerHour)) });
    }
  }
  return found;
}

function results(store: string, failovers: readonly Failover[], { brief = false } = {}): Result[] {
  const n = failovers.length;
  const extraS = summarize(failovers.map(({ extraMs }) => extraMs / 1_000));
  const requestsPerHour = summarize(failovers.map((failover) => failover.requestsPerHour));
  const product = extraS.max * requestsPerHour.median;
  const worst: Result = {
    measure: `${store}: worst extra x requests`,
    unit: "s x requests/h",
    goal: GOAL,
    n,
    median: product,
    min: product,
    max: product,
  };
  const parts = Object.keys(failovers[0]?.parts ?? {});
  return [
    ...(brief ? [] : [worst]),
    { measure: `${store}: extra failover`, unit: "s", ...extraS },
    ...(brief ? [] : [{ measure: `${store}: standby`, unit: "requests/h", ...requestsPerHour }]),
    ...parts.map((part) => ({
      measure: `  ${part}`,
      unit: "ms",
      ...summarize(failovers.map((failover) => failover.parts[part]!)),
    })),
  ];
}

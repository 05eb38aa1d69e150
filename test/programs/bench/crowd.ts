import type { SimulatedRecordServiceOptions } from "@leasehold/core/testing";
import { CrowdElection, ROUND_TRIP_MS, type Succession } from "./crowd-election.ts";
import type { Result, Section } from "./section.ts";
import { summarize } from "./statistics.ts";

const RUNS = 60;
const CROWD = 50;
/** The goal for a release that is pushed: the next leader's round trips with one standby, and the writes of a crowd. */
const GOAL = { roundTrips: 5, writes: 5 };

const STORES: ReadonlyArray<readonly [name: string, options: SimulatedRecordServiceOptions]> = [
  ["pushes, with an exact clock", { pushes: true, storeClock: { toleranceMs: 0, exact: true } }],
  ["pushes", { pushes: true }],
  ["polled", {}],
];

export const crowd: Section = {
  name: "crowd",
  about: `how one standby, and ${CROWD}, take over from a leader that stops or crashes, ${ROUND_TRIP_MS} ms a round trip, virtual`,
  meaning:
    "A hand-over takes at least two round trips: the release and its push, and the acquisition. Each write beyond the " +
    "first is of a standby that lost the race; what a polled store's release waits for is the next look.",
  takesS: 20,
  async measure() {
    const all: Result[] = [];
    for (const [name, options] of STORES) {
      for (const end of ["releases", "crashes"] as const) {
        for (const standbys of [1, CROWD]) {
          const runs = await successions(options, standbys, end);
          const goal = options.pushes && end === "releases" ? GOAL : undefined;
          all.push(...results(`${name}, ${end}, ${standbys} standing by`, runs, standbys > 1, goal));
        }
      }
    }
    return all;
  },
};

async function successions(
  options: SimulatedRecordServiceOptions,
  standbys: number,
  end: "releases" | "crashes",
): Promise<Succession[]> {
  const runs: Succession[] = [];
  for (let seed = 1; seed <= RUNS; seed += 1) runs.push(await new CrowdElection(seed, options).succession(standbys, end));
  return runs;
}

function results(measure: string, runs: readonly Succession[], isCrowd: boolean, goal: typeof GOAL | undefined): Result[] {
  return [
    { measure, unit: "round trips", goal: goal?.roundTrips, ...summarize(runs.map(({ tookMs }) => tookMs / ROUND_TRIP_MS)) },
    ...(isCrowd
      ? [
          { measure: "  writes of all", unit: "requests", goal: goal?.writes, ...summarize(runs.map(({ writes }) => writes)) },
          { measure: "  reads of all", unit: "requests", ...summarize(runs.map(({ reads }) => reads)) },
        ]
      : []),
  ];
}

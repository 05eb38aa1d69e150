import { CrowdElection, type Succession } from "./crowd-election.ts";
import type { Result, Section } from "./section.ts";
import { summarize } from "./statistics.ts";

const RUNS = 60;
const ROUND_TRIPS_MS = [0, 40, 100];
const STANDBYS = [1, 4, 30];
/** The goal for a crash: two round trips, and this much more. */
const AIM_MS = 50;
/** The goal for the writes of a crowd after a leader's crash. */
const AIM_WRITES = 6;

/** How record stores are watched. `dynamodb` and MySQL are polled; Firestore and PostgreSQL push. */
const STORES = [
  ["polled", {}],
  ["pushed", { pushes: true }],
] as const;

export const takeover: Section = {
  name: "takeover",
  about: `how ${STANDBYS.join(", ")} standbys take over a lease that has run out, at ${ROUND_TRIPS_MS.join(", ")} ms a round trip, virtual`,
  meaning:
    "From the end of the lease, which counts from the send of the last renewal, to the next leader. One round trip is the acquisition. Before " +
    "it, the renewal and the reply that shows it take another one. The requests are those of all standbys together, from a round trip " +
    "before to ten after it.",
  takesS: 60,
  async measure() {
    const all: Result[] = [];
    for (const [name, options] of STORES) {
      for (const roundTripMs of ROUND_TRIPS_MS) {
        for (const standbys of STANDBYS) {
          const runs: Succession[] = [];
          for (let seed = 1; seed <= RUNS; seed += 1) {
            runs.push(await new CrowdElection(seed, { ...options, roundTripMs }).succession(standbys, "crashes"));
          }
          const sum = (field: keyof Succession): ReturnType<typeof summarize> => summarize(runs.map((run) => run[field]));
          const goal = 2 * roundTripMs + AIM_MS;
          all.push({ measure: `${name}, ${roundTripMs} ms, ${standbys} standing by`, unit: "ms", goal, ...sum("tookMs") });
          all.push({ measure: "  writes of all", unit: "requests", goal: AIM_WRITES, ...sum("writes") });
          all.push({ measure: "  reads of all", unit: "requests", ...sum("reads") });
        }
      }
    }
    return all;
  },
};

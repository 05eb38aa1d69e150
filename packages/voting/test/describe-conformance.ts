import { runConformance } from "@leasehold/test-kit/conformance/run-conformance";
import { VotingPlace } from "./voting-place.ts";
import { votingSubject } from "./voting-subject.ts";

const ALONE = "one server has none to lose, and two cannot do without either; three and more run it";

/** Registers the conformance cases over this many servers in one process. */
export function describeServers(servers: number): void {
  const { requests, lacks, skips } = votingSubject(servers);
  runConformance({
    name: servers === 3 ? "voting" : `voting, ${servers} server${servers === 1 ? "" : "s"}`,
    leaseMs: 15_000,
    requests,
    lacks: { ...lacks, ...(servers < 3 ? { faults: ALONE, duplicates: ALONE, outages: ALONE, clocks: ALONE } : {}) },
    skips: { ...skips, ...(servers === 1 ? { "another-stores-lease": "one server is one process" } : {}) },
    open: () => VotingPlace.open(servers),
  });
}

/** The conformance cases, over three servers on ports of loopback, with directories. */
import { runConformance } from "@leasehold/test-kit/conformance/run-conformance";
import { LoopbackPlace } from "./loopback-place.ts";
import { votingSubject } from "./voting-subject.ts";

const { requests, lacks, skips } = votingSubject(3);

// One case after another: leases run in real time beside being moved, and a case must end before a lease of a minute does.
runConformance({
  name: "voting (loopback)",
  leaseMs: 60_000,
  // Virtual time has a thousand rounds.
  rounds: 100,
  requests,
  lacks: { ...lacks, duplicates: "a packet is taken once; the tests of the transport have it" },
  skips,
  open: () => LoopbackPlace.open(),
});

/** The cases that every store passes, over servers in one process: as many as may be, and as few. */
import { runConformance } from "@leasehold/test-kit/conformance/run-conformance";
import { VotingPlace } from "./voting-place.ts";

const ALONE = "one server has none to lose, and two cannot do without either; three and more run it";
const NO_RECORD = "nothing but the servers is in the place of a lease";
const BY_ITSELF = "a server that has heard a leader answers for the rest of the lease by itself";

for (const servers of [3, 1, 2, 5, 7]) {
  const others = servers - 1;
  runConformance({
    name: servers === 3 ? "voting" : `voting, ${servers} server${servers === 1 ? "" : "s"}`,
    leaseMs: 15_000,
    // A trial, ELECT and LEAD to each other server; the own one's vote, and what it remembers. A standby's has been told.
    requests: { acquire: 2 + 3 * others, renew: others, release: others, look: 0 },
    lacks: {
      ...(servers < 3 ? { faults: ALONE, duplicates: ALONE, outages: ALONE, clocks: ALONE } : {}),
      fence: "none but the term",
      unseen: "a claim is three round trips, whoever has looked",
      foreign: NO_RECORD,
      removal: NO_RECORD,
      transfer: "not offered: who comes next is for the votes to say",
      reservation: "not offered: its end takes a clock",
      occurrences: "not offered: they are kept in a store",
    },
    skips: {
      ...(servers === 1 ? { "another-stores-lease": "one server is one process" } : {}),
      "min-term": "the clock gives the first term",
      unreachable: BY_ITSELF,
      "abort-read-unanswered": BY_ITSELF,
      "counts-from-send": "an acquisition counts from its first LEAD, before which come a trial and ELECT",
      "leading-lost-reply": "where the first replies to an acquisition are lost, nothing is carried out",
    },
    open: () => VotingPlace.open(servers),
  });
}

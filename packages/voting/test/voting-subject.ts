import type { StoreUnderTest } from "@leasehold/conformance";

const NO_RECORD = "nothing but the servers is in the place of a lease";
const BY_ITSELF = "a server that has heard a leader answers for the rest of the lease by itself";

/** The properties of a store of so many servers that vote. */
export function votingSubject(servers: number): Required<Pick<StoreUnderTest, "requests" | "lacks" | "skips">> {
  const others = servers - 1;
  return {
    // Acquiring: a trial, ELECT and LEAD to each other server, the own vote, and a write of the counters. A standby knows the
    // leader already.
    requests: { acquire: 2 + 3 * others, renew: others, release: others, look: 0, list: [others, others] },
    lacks: {
      fence: "none but the term",
      foreign: NO_RECORD,
      removal: NO_RECORD,
      reservation: "not offered: its end takes a clock",
      occurrences: "not offered: they are kept in a store",
    },
    skips: {
      "min-term": "the clock gives the first term",
      unreachable: BY_ITSELF,
      "abort-read-unanswered": BY_ITSELF,
      "counts-from-send": "an acquisition counts from its first LEAD, before which come a trial and ELECT",
      "leading-lost-reply": "where the first replies to an acquisition are lost, nothing is carried out",
    },
  };
}

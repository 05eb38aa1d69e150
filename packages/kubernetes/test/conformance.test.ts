import { runConformance, SOME_ROUNDS } from "@leasehold/test-kit/conformance/run-conformance";
import { KubernetesPlace } from "./kubernetes-place.ts";

runConformance({
  name: "kubernetes",
  leaseMs: 15_000,
  rounds: SOME_ROUNDS,
  requests: { acquire: 1, renew: 1, release: 1, look: 1, list: [1, 1] },
  lacks: {
    fence: "no write elsewhere can depend on a Lease",
    "store-clock": "the API server tells no time that counts",
    reservation: "the API server tells no time that counts",
    occurrences: "nothing deletes Leases that are over",
  },
  skips: {
    "min-term": "spec.leaseTransitions holds no term above 2^31 - 1; record-store.test.ts has the rest of this case",
    "names-round-trip": "an election is the name of a Lease, a subdomain of lower-case letters; others are refused up front",
    "names-within-names": "an election is the name of a Lease, which has no slash",
    "list-prefix": "an election is the name of a Lease, a subdomain of lower-case letters; others are refused up front",
  },
  open: async () => await KubernetesPlace.open(),
});

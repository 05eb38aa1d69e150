import type { StoreUnderTest } from "@leasehold/conformance";

/** The facts of the suite about this store, on any Blob Storage whose clock can be moved. */
export const ON_BLOBS = {
  leaseMs: 15_000,
  // One request for the lease, and one for its term.
  requests: { acquire: 2, renew: 1, release: 1, look: 1 },
  lacks: { watch: "Blob Storage cannot push" },
} satisfies Partial<StoreUnderTest>;

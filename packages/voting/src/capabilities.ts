import type { LeaseStoreCapabilities } from "@leasehold/core";

export const NAME = "voting";
/** The longest value that a leader can publish, in bytes of UTF-8. Each LEAD carries the value. */
export const MAX_VALUE_BYTES = 4_096;

/** The longest lease of any election, and the longest time for which a voter waits for anything. */
export const LONGEST_LEASE_MS = 3_600_000;

export const CAPABILITIES: LeaseStoreCapabilities = {
  expiry: "native",
  watch: "push",
  minLeaseMs: 100,
  maxLeaseMs: LONGEST_LEASE_MS,
  leaseGranularityMs: 1,
  // A trial, ELECT, and the first LEAD.
  roundTrips: 3,
  maxValueBytes: MAX_VALUE_BYTES,
  fence: "none",
  transfer: { drain: "full" },
  storeClock: undefined,
  list: true,
};

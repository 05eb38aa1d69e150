import { isLeaseholdError } from "@leasehold/core";

/** The error codes of a store that may recover. */
const OUTAGES = ["STORE_TIMEOUT", "STORE_UNAVAILABLE", "STORE_THROTTLED"] as const;

/** Reports whether a store has failed in a way that may pass. */
export function isOutage(error: unknown): error is Error {
  return OUTAGES.some((code) => isLeaseholdError(error, code));
}

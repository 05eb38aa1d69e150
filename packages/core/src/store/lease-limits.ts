import { ConfigurationError } from "../reporting/errors.ts";
import { MAX_TIMER_MS } from "../time/clock.ts";
import type { LeaseStoreCapabilities, StoreClock } from "./capabilities.ts";

/** The fraction of the lease that a holder leaves unused. Rivals wait for the whole lease, so clock rates may differ by this. */
export const SAFETY_MARGIN = 0.1;
export const DEFAULT_LEASE_MS = 15_000;
export const DEFAULT_RETRY_PERIOD_MS = 2_000;
/** For a request outside an election. */
export const DEFAULT_REQUEST_TIMEOUT_MS = 5_000;

/** Returns the shortest lease, in whole milliseconds, whose safety margin covers the unnoticed error of a store's clock. */
export function shortestLeaseMs(storeClock: StoreClock | undefined): number {
  return storeClock?.mayStep ? Math.max(1, Math.ceil(storeClock.toleranceMs / SAFETY_MARGIN)) : 1;
}

/** @throws {ConfigurationError} unless the store takes this duration for a lease. */
export function checkLease(leaseDurationMs: number, capabilities: LeaseStoreCapabilities | undefined): void {
  duration("leaseDurationMs", leaseDurationMs);
  if (!capabilities) return;
  const { minLeaseMs, maxLeaseMs, leaseGranularityMs, storeClock } = capabilities;
  if (leaseDurationMs < minLeaseMs || leaseDurationMs > maxLeaseMs) {
    const why =
      storeClock?.mayStep && leaseDurationMs < minLeaseMs
        ? ` Its clock may be off by ${storeClock.toleranceMs} ms, and a margin of ${SAFETY_MARGIN * 100}% of the lease has to cover that.`
        : "";
    throw new ConfigurationError(`leaseDurationMs is ${leaseDurationMs}; this store takes ${minLeaseMs} to ${maxLeaseMs}.${why}`);
  }
  if (leaseDurationMs % leaseGranularityMs !== 0) {
    throw new ConfigurationError(`leaseDurationMs is ${leaseDurationMs}; this store takes multiples of ${leaseGranularityMs}.`);
  }
}

/** @throws {ConfigurationError} unless `value` is a finite number of milliseconds, from `min` to 2^31 - 1. */
export function duration(name: string, value: unknown, min = 1): number {
  if (typeof value === "string") {
    throw new ConfigurationError(
      `${name} must be a number; it is the text ${JSON.stringify(value)}. Pass milliseconds as a number: use Number(...).`,
    );
  }
  if (typeof value !== "number" || Number.isNaN(value)) {
    throw new ConfigurationError(`${name} must be a number of milliseconds, not ${String(value)}.`);
  }
  if (value === Infinity && name === "leaseDurationMs") {
    throw new ConfigurationError(
      "leaseDurationMs is Infinity; a leader that crashed could then never be replaced. Give it an end.",
    );
  }
  if (value < min || value > MAX_TIMER_MS) {
    throw new ConfigurationError(`${name} is ${value} ms; it must be from ${min} to ${MAX_TIMER_MS}.`);
  }
  return value;
}

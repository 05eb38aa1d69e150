import { ConfigurationError, timing, type LeaseStoreCapabilities, type TimingOptions } from "@leasehold/core";
import { SAFETY_MARGIN } from "@leasehold/core/provider";

/** The time for which a leadership stays valid after its invocation, because the platform may end an invocation a little late. */
const LATE_END_MS = 1_000;
/** The lease of an invocation that renews in the background. */
const BACKGROUND_LEASE_MS = timing().leaseDurationMs;
/** The default limit of the time in which a handler stops before its platform ends it. */
const SHUTDOWN_MARGIN_MS = 5_000;
/** The longest wait for one reply. */
const MAX_ATTEMPT_MS = 5_000;
/** The share of the margin that each of a release's two tries may take, and the least time for one. */
const RELEASE_SHARE = 0.45;
const MIN_RELEASE_MS = 100;

/** The sender of renewals: the handler by `checkpoint()`, or a timer in the background. */
export type Renewal = "checkpoint" | "background";

export interface TimeBudgetOptions {
  readonly leaseDurationMs?: number | undefined;
  readonly minimumHoldMs?: number | undefined;
  readonly shutdownMarginMs?: number | undefined;
  readonly renewal?: Renewal | undefined;
}

/** The durations of one invocation. */
export interface TimeBudget {
  /** The time after which the signal aborts. */
  readonly workMs: number;
  /** The longest time for each of a release's two tries, so that both end before the platform ends the invocation. */
  readonly releaseTimeoutMs: number;
  readonly timing: TimingOptions;
  /** The sender of renewals: the handler, or a timer. */
  readonly renewal: Renewal;
}

/**
 * Sizes the lease of an invocation that its platform ends in `remainingMs`. The lease keeps the leadership valid for all of that
 * time without a renewal, or it is the store's longest lease. A shorter lease is renewed in the background, unless the options
 * say that the handler renews it. Otherwise a handler that never calls `checkpoint()` would lose its lease while it works.
 * @throws {ConfigurationError} if there is no time to work in.
 */
export function timeBudget(remainingMs: number, options: TimeBudgetOptions, capabilities: LeaseStoreCapabilities): TimeBudget {
  const marginMs = options.shutdownMarginMs ?? Math.min(SHUTDOWN_MARGIN_MS, remainingMs / 10);
  const workMs = remainingMs - marginMs;
  if (!(workMs > 0)) {
    throw new ConfigurationError(
      `The platform ends this invocation in ${Math.round(remainingMs)} ms, and shutdownMarginMs is ${Math.round(marginMs)}: no time is left to work in. Raise the function's timeout or lower shutdownMarginMs.`,
    );
  }
  // The lease covers all of the platform's time, so a stopping task may use all of it.
  const drainTimeoutMs = remainingMs;
  const releaseTimeoutMs = Math.max(marginMs * RELEASE_SHARE, MIN_RELEASE_MS);
  const coveringMs = options.renewal === "background" ? BACKGROUND_LEASE_MS : (remainingMs + LATE_END_MS) / (1 - SAFETY_MARGIN);
  const leaseDurationMs = options.leaseDurationMs ?? fit(Math.max(coveringMs, options.minimumHoldMs ?? 0), capabilities);
  const validForMs = leaseDurationMs * (1 - SAFETY_MARGIN);
  const renewal = options.renewal ?? (validForMs >= remainingMs ? "checkpoint" : "background");
  if (renewal === "background") return { workMs, releaseTimeoutMs, timing: { leaseDurationMs, drainTimeoutMs }, renewal };
  const renewIntervalMs = leaseDurationMs / 3;
  // If the lease ends before the invocation, leave time to stop before the leadership ends.
  const renewDeadlineMs = validForMs - Math.min(Math.max(marginMs, 1), validForMs / 10);
  // Use whole milliseconds, so that two attempts fit even after rounding.
  const attemptTimeoutMs = Math.min(MAX_ATTEMPT_MS, Math.floor((renewDeadlineMs - renewIntervalMs) / 2));
  return {
    workMs,
    releaseTimeoutMs,
    renewal,
    timing: { leaseDurationMs, renewIntervalMs, renewDeadlineMs, attemptTimeoutMs, drainTimeoutMs },
  };
}

/** Returns the shortest lease of at least `neededMs` that the store takes, or else the store's longest. */
function fit(neededMs: number, { minLeaseMs, maxLeaseMs, leaseGranularityMs }: LeaseStoreCapabilities): number {
  const roundedMs = Math.ceil(neededMs / leaseGranularityMs) * leaseGranularityMs;
  return Math.min(Math.max(roundedMs, minLeaseMs), maxLeaseMs);
}

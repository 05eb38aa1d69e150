import { ConfigurationError, type LeaseStoreCapabilities, type TimingOptions } from "@leasehold/core";
import { SAFETY_MARGIN } from "@leasehold/core/provider";

/** The time for which a leadership is valid beyond its invocation, which the platform ends a little late. */
const LATE_END_MS = 1_000;
/** The lease of an invocation that renews in the background: what an elector takes by default. */
const BACKGROUND_LEASE_MS = 15_000;
/** The longest that a handler gets, by default, to stop before its platform ends it. */
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
  /** The longest that each of the two tries of a release may take, so that they end before the platform does. */
  readonly releaseTimeoutMs: number;
  readonly timing: TimingOptions;
  /** The sender of renewals: the handler, or a timer. */
  readonly renewal: Renewal;
}

/**
 * Sizes the lease of an invocation that its platform ends in `remainingMs`: long enough that the leadership is valid for
 * all of it without a renewal, or the longest that the store takes. A shorter one is renewed in the background, unless the options say
 * that the handler renews it: a handler that does not know of that would lose its lease while it works.
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
  // As long as the platform lets it: the lease covers that.
  const drainTimeoutMs = remainingMs;
  const releaseTimeoutMs = Math.max(marginMs * RELEASE_SHARE, MIN_RELEASE_MS);
  const coveringMs = options.renewal === "background" ? BACKGROUND_LEASE_MS : (remainingMs + LATE_END_MS) / (1 - SAFETY_MARGIN);
  const leaseDurationMs = options.leaseDurationMs ?? fit(Math.max(coveringMs, options.minimumHoldMs ?? 0), capabilities);
  const validForMs = leaseDurationMs * (1 - SAFETY_MARGIN);
  const renewal = options.renewal ?? (validForMs >= remainingMs ? "checkpoint" : "background");
  if (renewal === "background") return { workMs, releaseTimeoutMs, timing: { leaseDurationMs, drainTimeoutMs }, renewal };
  const renewIntervalMs = leaseDurationMs / 3;
  // Time to stop before the leadership is over, where the lease and not the platform ends it.
  const renewDeadlineMs = validForMs - Math.min(Math.max(marginMs, 1), validForMs / 10);
  // Two fit, however their sum is rounded: so, whole milliseconds.
  const attemptTimeoutMs = Math.min(MAX_ATTEMPT_MS, Math.floor((renewDeadlineMs - renewIntervalMs) / 2));
  return {
    workMs,
    releaseTimeoutMs,
    renewal,
    timing: { leaseDurationMs, renewIntervalMs, renewDeadlineMs, attemptTimeoutMs, drainTimeoutMs },
  };
}

/** Returns the shortest lease that the store takes and that is as long, or its longest. */
function fit(neededMs: number, { minLeaseMs, maxLeaseMs, leaseGranularityMs }: LeaseStoreCapabilities): number {
  const roundedMs = Math.ceil(neededMs / leaseGranularityMs) * leaseGranularityMs;
  return Math.min(Math.max(roundedMs, minLeaseMs), maxLeaseMs);
}

import { ConfigurationError } from "../reporting/errors.ts";
import { MAX_TIMER_MS } from "../time/clock.ts";
import {
  checkLease,
  DEFAULT_LEASE_MS,
  DEFAULT_REQUEST_TIMEOUT_MS,
  DEFAULT_RETRY_PERIOD_MS,
  duration,
  SAFETY_MARGIN,
} from "../store/lease-limits.ts";
import type { LeaseStoreCapabilities } from "../store/capabilities.ts";

/** Within a shorter lease no store answers in time for a renewal. A smaller number was probably meant as seconds. */
const SHORTEST_LEASE_MS = 100;

export interface TimingOptions {
  /** The time that standbys wait after the last renewal before they may acquire. @defaultValue 15_000 */
  readonly leaseDurationMs?: number | undefined;
  /** The interval at which the leader renews. @defaultValue leaseDurationMs / 3 */
  readonly renewIntervalMs?: number | undefined;
  /** The task's signal aborts after this time without a confirmed renewal. @defaultValue leaseDurationMs * 2 / 3 */
  readonly renewDeadlineMs?: number | undefined;
  /** The longest wait of a standby between two polls, on a store that cannot push. @defaultValue 2_000 */
  readonly retryPeriodMs?: number | undefined;
  /**
   * The longest time for one attempt to renew, with all its requests, and for any other single request.
   * @defaultValue a third of the time between renewIntervalMs and renewDeadlineMs, at most 5_000
   */
  readonly attemptTimeoutMs?: number | undefined;
  /** The longest that a task may take to settle after its signal aborted, while renewals go on. @defaultValue leaseDurationMs */
  readonly drainTimeoutMs?: number | undefined;
  /** The longest time between two `checkpoint()` calls of the task. After that the lease is given up. @defaultValue none */
  readonly stallTimeoutMs?: number | undefined;
  /**
   * The cooldown: the time for which this elector does not compete after it gave up a term. A resign, the task's end, a stall and
   * a transfer give a term up. A newer term ends the cooldown. A lost lease causes none. @defaultValue 2 * retryPeriodMs
   */
  readonly cooldownMs?: number | undefined;
}

/** Every duration of an elector, with the defaults filled in. */
export interface Timing extends Readonly<Record<Exclude<keyof TimingOptions, "stallTimeoutMs">, number>> {
  readonly stallTimeoutMs: number | undefined;
  /** leaseDurationMs * 0.9: the time for which a leader counts itself valid after it sent its last confirmed renewal. */
  readonly validForMs: number;
}

/** In milliseconds: worst cases for a store that answers each request in less than `roundTripMs`. */
export interface TimingReport extends Timing {
  /** From the last renewal of a crashed leader until a standby leads, if that standby was already polling. */
  readonly crashFailoverMs: number;
  /**
   * From the release by a stopping leader until a standby leads, if that standby was already polling. The drain comes on top. On
   * a store that pushes, a release whose push is lost is found by the next poll, up to `renewIntervalMs` later.
   */
  readonly politeHandoverMs: number;
  /**
   * The longest round trip at which all these times hold: `attemptTimeoutMs` divided by the round trips of one attempt. An
   * attempt takes two, three on PostgreSQL and MySQL, and up to four on a quorum.
   */
  readonly roundTripMs: number;
  /** The longest outage of the store that never makes a leader step down, no matter when the outage begins. */
  readonly outageToleratedMs: number;
  /** The longest freeze of the leader's process that never makes it step down, no matter when the freeze begins. */
  readonly pauseToleratedMs: number;
  /** The task's time to stop when renewals fail: from the abort of its signal to the end of the lease's validity. */
  readonly timeToStopMs: number;
  /** The largest difference of two clocks' rates, as a ratio, at which two leaders are never valid at once. */
  readonly driftTolerated: number;
  toString(): string;
}

/**
 * Returns the worst-case times of a configuration, before anything is deployed. Without `capabilities`, it assumes a store that
 * must be polled.
 *
 * @example
 * ```ts
 * console.log(String(timing({ leaseDurationMs: 15_000 })));
 * ```
 * @throws {ConfigurationError} if the durations do not fit together. The message has the numbers.
 */
export function timing(options: TimingOptions = {}, capabilities?: LeaseStoreCapabilities): TimingReport {
  const decided = decideTiming(options, capabilities);
  const { leaseDurationMs, renewIntervalMs, renewDeadlineMs, attemptTimeoutMs, retryPeriodMs, validForMs } = decided;
  const pushes = capabilities?.watch === "push";
  const renewalsSeenWithinMs = pushes ? renewIntervalMs : retryPeriodMs;
  const clockToleranceMs = capabilities?.storeClock?.exact ? capabilities.storeClock.toleranceMs : 0;
  // A poll, the wait for the turn, a second poll and the acquisition. Where the store pushes, the wait for the turn is longer.
  const pollAndAcquireMs = (pushes ? 3 : 2) * attemptTimeoutMs;
  const { roundTrips = 2 } = capabilities ?? {};
  // An attempt of more than three round trips needs all of them, even if no reply is lost.
  const answeredMs = roundTrips > 3 ? attemptTimeoutMs : attemptTimeoutMs / roundTrips;
  // The time from when a renewal is due to the start of the last try. A renewal is sent late if the reply before it was slow.
  const lastTryMs = renewDeadlineMs - Math.max(renewIntervalMs, answeredMs) - attemptTimeoutMs;
  const report = {
    ...decided,
    // A standby may observe the last renewal one poll late.
    crashFailoverMs: leaseDurationMs + renewalsSeenWithinMs + clockToleranceMs + pollAndAcquireMs,
    politeHandoverMs: (pushes ? 0 : retryPeriodMs) + pollAndAcquireMs,
    roundTripMs: attemptTimeoutMs / roundTrips,
    // The outage may begin right before a reply arrives.
    outageToleratedMs: lastTryMs - answeredMs,
    pauseToleratedMs: lastTryMs,
    timeToStopMs: validForMs - renewDeadlineMs,
    driftTolerated: SAFETY_MARGIN,
  };
  return Object.defineProperty(report, "toString", { value: () => table(report), enumerable: false }) as TimingReport;
}

/** Fills in the defaults. @throws {ConfigurationError} if the durations do not fit together, with the numbers. */
export function decideTiming(options: TimingOptions, capabilities?: LeaseStoreCapabilities): Timing {
  // A default replaces only `undefined`. `null` stays, and is then refused.
  const { leaseDurationMs = DEFAULT_LEASE_MS, retryPeriodMs = DEFAULT_RETRY_PERIOD_MS } = options;
  if (duration("leaseDurationMs", leaseDurationMs) < SHORTEST_LEASE_MS) {
    throw new ConfigurationError(
      `leaseDurationMs is ${leaseDurationMs}, in milliseconds; the shortest lease is ${SHORTEST_LEASE_MS}. Were ${leaseDurationMs} seconds meant? Then it is ${leaseDurationMs * 1_000}.`,
    );
  }
  checkLease(leaseDurationMs, capabilities);
  const { renewIntervalMs = leaseDurationMs / 3, renewDeadlineMs = (leaseDurationMs * 2) / 3 } = options;
  duration("renewIntervalMs", renewIntervalMs);
  duration("renewDeadlineMs", renewDeadlineMs);
  duration("retryPeriodMs", retryPeriodMs);
  const betweenMs = Math.max(renewDeadlineMs - renewIntervalMs, 3);
  const { attemptTimeoutMs = Math.min(betweenMs / 3, DEFAULT_REQUEST_TIMEOUT_MS), drainTimeoutMs = leaseDurationMs } = options;
  duration("attemptTimeoutMs", attemptTimeoutMs);
  const { cooldownMs = Math.min(2 * retryPeriodMs, MAX_TIMER_MS) } = options;
  const validForMs = leaseDurationMs * (1 - SAFETY_MARGIN);
  const decided: Timing = {
    leaseDurationMs,
    renewIntervalMs,
    renewDeadlineMs,
    validForMs,
    retryPeriodMs,
    attemptTimeoutMs,
    drainTimeoutMs: duration("drainTimeoutMs", drainTimeoutMs),
    stallTimeoutMs: options.stallTimeoutMs === undefined ? undefined : duration("stallTimeoutMs", options.stallTimeoutMs),
    cooldownMs: duration("cooldownMs", cooldownMs, 0),
  };
  const numbers = `renewIntervalMs ${renewIntervalMs}, attemptTimeoutMs ${attemptTimeoutMs}, renewDeadlineMs ${renewDeadlineMs}, valid until ${validForMs} (leaseDurationMs ${leaseDurationMs} less a margin of ${SAFETY_MARGIN * 100}%)`;
  if (renewDeadlineMs >= validForMs) {
    throw new ConfigurationError(
      `renewDeadlineMs must be less than ${validForMs}, so that a task has time to stop while the lease still stands: ${numbers}. Lower renewDeadlineMs or raise leaseDurationMs.`,
    );
  }
  if (renewIntervalMs + 2 * attemptTimeoutMs > renewDeadlineMs) {
    throw new ConfigurationError(
      `A renewal and its retry do not fit before the renew deadline: renewIntervalMs + 2 * attemptTimeoutMs is ${renewIntervalMs + 2 * attemptTimeoutMs}, more than renewDeadlineMs: ${numbers}. Lower renewIntervalMs or attemptTimeoutMs, or raise leaseDurationMs.`,
    );
  }
  return decided;
}

const MEANINGS = {
  leaseDurationMs: "rivals wait this long after the last renewal",
  renewIntervalMs: "the leader renews this often",
  attemptTimeoutMs: "one attempt to renew takes no longer",
  renewDeadlineMs: "no renewal by then: the task's signal aborts",
  validForMs: "the leader is valid for this long after a renewal",
  crashFailoverMs: "from a crashed leader's last renewal to the next leader",
  politeHandoverMs: "from a release to the next leader (drain comes on top)",
  roundTripMs: "a store that answers each request within this keeps all of this",
  outageToleratedMs: "a store outage this long never deposes the leader",
  pauseToleratedMs: "a frozen process this long never loses its lease",
  timeToStopMs: "the task has this long to stop while still the only leader",
  driftTolerated: "clock rates may differ by this much",
} as const;

function table(report: Omit<TimingReport, "toString">): string {
  const rows = Object.entries(MEANINGS).map(([name, meaning]) => {
    const value = report[name as keyof typeof MEANINGS];
    const text = name === "driftTolerated" ? `${value * 100} %` : `${Math.round(value).toLocaleString("en-US")} ms`;
    return `${name.padEnd(18)} ${text.padStart(10)}  ${meaning}`;
  });
  return rows.join("\n");
}

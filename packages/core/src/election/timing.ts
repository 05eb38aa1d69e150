import { ConfigurationError } from "../reporting/errors.ts";
import { MAX_TIMER_MS } from "../time/clock.ts";
import { checkLease, DEFAULT_REQUEST_TIMEOUT_MS, duration, SAFETY_MARGIN } from "../store/lease-limits.ts";
import type { LeaseStoreCapabilities } from "../store/capabilities.ts";

/** No store answers in the fractions of a shorter lease. Who gives less has given seconds. */
const SHORTEST_LEASE_MS = 100;

/** The durations that a user may set, all in milliseconds. */
export interface TimingOptions {
  /** The time that standbys wait after the last renewal. @defaultValue 15_000 */
  readonly leaseDurationMs?: number | undefined;
  /** The interval at which the leader renews. @defaultValue leaseDurationMs / 3 */
  readonly renewIntervalMs?: number | undefined;
  /** Without a confirmed renewal for this long, the task's signal aborts. @defaultValue leaseDurationMs * 2 / 3 */
  readonly renewDeadlineMs?: number | undefined;
  /**
   * The longest that a standby waits between looks where the store cannot push: bounds the polite handover there. @defaultValue
   * 2_000
   */
  readonly retryPeriodMs?: number | undefined;
  /**
   * The longest that one attempt to renew may take, all its requests together; and any other request to the store.
   * @defaultValue a third of what lies between renewIntervalMs and renewDeadlineMs, at most 5_000
   */
  readonly attemptTimeoutMs?: number | undefined;
  /**
   * The longest that a task may take to settle once its signal has aborted, while the lease is still being renewed.
   * @defaultValue leaseDurationMs
   */
  readonly drainTimeoutMs?: number | undefined;
  /** The longest silence between two `checkpoint()` calls of the task; beyond it the lease is given up. @defaultValue none */
  readonly stallTimeoutMs?: number | undefined;
  /**
   * The time for which this elector does not compete after it gave up a term (resign, the task's end, a stall, a transfer), unless it sees a
   * newer one. A lease that was lost triggers no cooldown; `run` waits a tenth of a second at least. @defaultValue 2 * retryPeriodMs
   */
  readonly cooldownMs?: number | undefined;
}

/** Every duration of an elector, decided. */
export interface Timing {
  readonly leaseDurationMs: number;
  readonly renewIntervalMs: number;
  readonly renewDeadlineMs: number;
  /** leaseDurationMs * 0.9: how long after the last good send the leader may believe in itself. */
  readonly validForMs: number;
  readonly retryPeriodMs: number;
  readonly attemptTimeoutMs: number;
  readonly drainTimeoutMs: number;
  readonly stallTimeoutMs: number | undefined;
  readonly cooldownMs: number;
}

/**
 * The promises of {@link timing}, in milliseconds. Worst cases, for a store that answers each request in less than
 * `roundTripMs`.
 */
export interface TimingReport extends Timing {
  /** From the last renewal of a leader that crashed to a standing standby's leading. */
  readonly crashFailoverMs: number;
  /**
   * From the release by a leader that stops politely to a standing standby's leading; the task's drain comes on top. Where the store
   * pushes, while its pushes come: a release whose push is lost is found by the next poll, up to `renewIntervalMs` later.
   */
  readonly politeHandoverMs: number;
  /**
   * The longest round trip at which all of this holds: half of `attemptTimeoutMs`, since an attempt whose reply was lost takes
   * two; a third of it on PostgreSQL and MySQL, where it takes three; a quarter on a quorum, where an attempt may take four.
   */
  readonly roundTripMs: number;
  /** The longest outage of the store that never makes a leader step down, whenever it begins. */
  readonly outageToleratedMs: number;
  /** The longest freeze of the leader's process that never makes it step down, whenever it begins. */
  readonly pauseToleratedMs: number;
  /**
   * From the abort of the task's signal, when renewals stay away, to the end of the lease's validity: the task's time to stop.
   */
  readonly timeToStopMs: number;
  /** By how much the rates of two clocks may differ, as a ratio, before two leaders could be valid at once. */
  readonly driftTolerated: number;
  /** The same as a table that a person can read. */
  toString(): string;
}

/**
 * The worst-case times that follow from a configuration, before anything is deployed.
 *
 * @example
 * ```ts
 * console.log(String(timing({ leaseDurationMs: 15_000 })));
 * ```
 * @param capabilities those of the store; without them, a store that must be polled and whose expiry standbys observe.
 * @throws {ConfigurationError} when the durations do not fit together, with the numbers.
 */
export function timing(options: TimingOptions = {}, capabilities?: LeaseStoreCapabilities): TimingReport {
  const decided = decideTiming(options, capabilities);
  const { leaseDurationMs, renewIntervalMs, renewDeadlineMs, attemptTimeoutMs, retryPeriodMs, validForMs } = decided;
  const pushes = capabilities?.watch === "push";
  const renewalsSeenWithinMs = pushes ? renewIntervalMs : retryPeriodMs;
  const clockToleranceMs = capabilities?.storeClock?.exact ? capabilities.storeClock.toleranceMs : 0;
  // Round trips, of which two fit an attempt: a poll, the candidate's place in the order, a second poll, and the acquisition. A place
  // among those that are woken waits for longer: until the push of an acquisition could have come.
  const pollAndAcquireMs = (pushes ? 3 : 2) * attemptTimeoutMs;
  const { roundTrips = 2 } = capabilities ?? {};
  // Where more than a write, a reading and a second write fit an attempt, it takes them all though nothing is lost.
  const answeredMs = roundTrips > 3 ? attemptTimeoutMs : attemptTimeoutMs / roundTrips;
  // What the deadline leaves for a last try after a renewal that was sent in its time. A slow store delays that one, too.
  const lastTryMs = renewDeadlineMs - Math.max(renewIntervalMs, answeredMs) - attemptTimeoutMs;
  const report = {
    ...decided,
    // A standby may see the last renewal a poll late.
    crashFailoverMs: leaseDurationMs + renewalsSeenWithinMs + clockToleranceMs + pollAndAcquireMs,
    politeHandoverMs: (pushes ? 0 : retryPeriodMs) + pollAndAcquireMs,
    roundTripMs: attemptTimeoutMs / roundTrips,
    // It may begin right before a reply is in.
    outageToleratedMs: lastTryMs - answeredMs,
    pauseToleratedMs: lastTryMs,
    timeToStopMs: validForMs - renewDeadlineMs,
    driftTolerated: SAFETY_MARGIN,
  };
  return Object.defineProperty(report, "toString", { value: () => table(report), enumerable: false }) as TimingReport;
}

/**
 * Fills in what was left out and checks that everything fits.
 * @throws {ConfigurationError} with the numbers.
 */
export function decideTiming(options: TimingOptions, capabilities?: LeaseStoreCapabilities): Timing {
  // Defaults of destructuring: only what was left out gets one, and null is a mistake.
  const { leaseDurationMs = 15_000, retryPeriodMs = 2_000 } = options;
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

function table(report: Omit<TimingReport, "toString">): string {
  const rows: ReadonlyArray<readonly [string, string, string]> = [
    ["leaseDurationMs", ms(report.leaseDurationMs), "rivals wait this long after the last renewal"],
    ["renewIntervalMs", ms(report.renewIntervalMs), "the leader renews this often"],
    ["attemptTimeoutMs", ms(report.attemptTimeoutMs), "one attempt to renew takes no longer"],
    ["renewDeadlineMs", ms(report.renewDeadlineMs), "no renewal by then: the task's signal aborts"],
    ["validForMs", ms(report.validForMs), "the leader counts itself out, whatever happens"],
    ["crashFailoverMs", ms(report.crashFailoverMs), "from a crashed leader's last renewal to the next leader"],
    ["politeHandoverMs", ms(report.politeHandoverMs), "from a release to the next leader (drain comes on top)"],
    ["roundTripMs", ms(report.roundTripMs), "a store that answers each request within this keeps all of this"],
    ["outageToleratedMs", ms(report.outageToleratedMs), "a store outage this long never deposes the leader"],
    ["pauseToleratedMs", ms(report.pauseToleratedMs), "a frozen process this long never loses its lease"],
    ["timeToStopMs", ms(report.timeToStopMs), "the task has this long to stop while still the only leader"],
    ["driftTolerated", `${report.driftTolerated * 100} %`, "clock rates may differ by this much"],
  ];
  return rows.map(([name, value, meaning]) => `${name.padEnd(18)} ${value.padStart(10)}  ${meaning}`).join("\n");
}

function ms(value: number): string {
  return `${Math.round(value).toLocaleString("en-US")} ms`;
}

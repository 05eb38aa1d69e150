import { ConfigurationError, type Timing } from "@leasehold/core";
import { after, type MachineInstant } from "./machine-clock.ts";

/** KILL is sent at least this long before the leadership stops being valid, because it takes effect a little later. */
const KILL_MARGIN_MS = 250;
/** The same margin as a fraction of the lease. The longer of the two counts. */
const KILL_MARGIN = 0.02;

/** The guard asks this long after the renew deadline, at most. So the order that follows a renewal just before it can arrive. */
const ORDER_DELAY_MS = 900;

/** The parts of an elector's timing that a plan depends on, in milliseconds. */
export interface PlanTiming extends Pick<Timing, "leaseDurationMs" | "renewDeadlineMs" | "validForMs"> {
  /** The longest time that CMD may take to end. */
  readonly graceMs: number;
}

/** The instants of one term, unless another renewal is confirmed. */
export interface Plan {
  /**
   * The instant at which the guard asks CMD to end by itself. The wrapper orders that at the renew deadline, a little before.
   */
  readonly termAt: MachineInstant;
  /** When CMD is killed at the latest. */
  readonly killAt: MachineInstant;
}

/** Returns how long before the end of validity CMD is killed. */
export function killMarginMs(leaseDurationMs: number): number {
  return Math.max(KILL_MARGIN_MS, leaseDurationMs * KILL_MARGIN);
}

/** @throws {ConfigurationError} if CMD would be killed before it is asked to end. */
export function checkPlan({ leaseDurationMs, renewDeadlineMs, validForMs }: Omit<PlanTiming, "graceMs">): void {
  if (toStopMs({ leaseDurationMs, renewDeadlineMs, validForMs }) > 0) return;
  const least = Math.ceil(KILL_MARGIN_MS / (validForMs / leaseDurationMs - renewDeadlineMs / leaseDurationMs) / 100) * 100;
  throw new ConfigurationError(
    `a lease of ${leaseDurationMs} ms leaves a command no time to end before it has to be killed; take one of ${least} ms at least.`,
  );
}

/**
 * Returns when the guard asks CMD to end, and when it is killed, unless another renewal is confirmed before.
 * @param now read before `remainingMs`. A freeze between the two reads then makes both instants earlier, not later.
 * @param remainingMs how much longer the leadership is valid.
 */
export function planOf(timing: PlanTiming, now: MachineInstant, remainingMs: number): Plan {
  const { leaseDurationMs, renewDeadlineMs, validForMs } = timing;
  const orderDelayMs = Math.min(ORDER_DELAY_MS, toStopMs(timing) / 4);
  return {
    termAt: after(now, remainingMs - (validForMs - renewDeadlineMs) + orderDelayMs),
    killAt: after(now, remainingMs - killMarginMs(leaseDurationMs)),
  };
}

/** Describes both times for people, counted from the last confirmed renewal. */
export function describePlan({ leaseDurationMs, renewDeadlineMs, validForMs, graceMs }: PlanTiming, signal: string): string {
  const killMs = Math.min(validForMs - killMarginMs(leaseDurationMs), renewDeadlineMs + graceMs);
  return `without a renewal it gets ${signal} after ${seconds(renewDeadlineMs)} and SIGKILL after ${seconds(killMs)}`;
}

/** Returns the shortest time between the request to end and KILL, if the grace is longer than that. */
function toStopMs({ leaseDurationMs, renewDeadlineMs, validForMs }: Omit<PlanTiming, "graceMs">): number {
  return validForMs - killMarginMs(leaseDurationMs) - renewDeadlineMs;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

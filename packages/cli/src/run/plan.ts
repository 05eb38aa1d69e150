import { ConfigurationError, type Timing } from "@leasehold/core";
import { after, type MachineInstant } from "./machine-clock.ts";

/** How long before the end of validity KILL is sent at the latest: it takes effect a little later. */
const KILL_MARGIN_MS = 250;
const KILL_MARGIN = 0.02;

/** How much later than the wrapper the guard is to ask, at the most: one that lives asks by itself, and CMD is to hear it once. */
const HEAD_START_MS = 900;

/** What of an elector's timing a plan depends on, in milliseconds. */
export interface PlanTiming extends Pick<Timing, "leaseDurationMs" | "renewDeadlineMs" | "validForMs"> {
  /** The longest that CMD may take to end. */
  readonly graceMs: number;
}

/** The instants of one term, as far as is known now. */
export interface Plan {
  /** When the guard asks CMD to end: a little after the renew deadline, at which the wrapper does. */
  readonly termAt: MachineInstant;
  readonly killAt: MachineInstant;
}

/** Returns by how much before the end of validity CMD is killed. */
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
 * @param now read before `remainingMs` was: a freeze between the two makes both instants earlier, not later.
 * @param remainingMs of the leadership's validity.
 */
export function planOf(timing: PlanTiming, now: MachineInstant, remainingMs: number): Plan {
  const { leaseDurationMs, renewDeadlineMs, validForMs } = timing;
  const headStartMs = Math.min(HEAD_START_MS, toStopMs(timing) / 4);
  return {
    termAt: after(now, remainingMs - (validForMs - renewDeadlineMs) + headStartMs),
    killAt: after(now, remainingMs - killMarginMs(leaseDurationMs)),
  };
}

/** Returns both times as a person reads them, counted from the last confirmed renewal. */
export function describePlan({ leaseDurationMs, renewDeadlineMs, validForMs, graceMs }: PlanTiming, signal: string): string {
  const killMs = Math.min(validForMs - killMarginMs(leaseDurationMs), renewDeadlineMs + graceMs);
  return `without a renewal it gets ${signal} after ${seconds(renewDeadlineMs)} and SIGKILL after ${seconds(killMs)}`;
}

/** The least time that CMD has between being asked and being killed, if its grace allows it. */
function toStopMs({ leaseDurationMs, renewDeadlineMs, validForMs }: Omit<PlanTiming, "graceMs">): number {
  return validForMs - killMarginMs(leaseDurationMs) - renewDeadlineMs;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

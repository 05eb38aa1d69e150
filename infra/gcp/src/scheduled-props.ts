import { Token } from "cdktn";
import type { CandidateProps } from "./candidate-props.ts";
import { longestLeaseMs } from "../../terraform.ts";

/** The properties of a function on a schedule. */
export interface ScheduledProps extends CandidateProps {
  /**
   * 1 to 49 lower-case letters, digits and hyphens. It is also the name of the schedule, by which `oncePerTick` identifies an
   * occurrence: use the same in every region.
   */
  readonly name: string;
  /**
   * The service account's id: 6 to 22 lower-case letters, digits and hyphens. With `-invoker` it is the id of the schedule's
   * account. It is unique in a project, so two regions need different ones.
   * @default - the name
   */
  readonly accountId?: string;
  /** The schedule: five fields, as in `0 3 * * *`. The program finds it in `LEADER_SCHEDULE`. */
  readonly schedule: string;
  /** @default "Etc/UTC" */
  readonly timeZone?: string;
}

interface RetryArguments {
  readonly retry_count: number;
  readonly min_backoff_duration: string;
  readonly max_backoff_duration: string;
}

/** The largest number of retries that Cloud Scheduler makes. */
export const RETRIES = 5;
/** The time for a start in a new instance, and for a clock that runs slower. */
const SLACK_MS = 60_000;

/**
 * Returns retries that last longer than the lease. A delivery that finds the claim of a dead one fails, so the last retry has to
 * come after the lease. The distances are equal, because doubling ones end after some minutes.
 * @param timeoutMs the longest time of a delivery, for which it has its lease.
 */
export function retriesPastLease(timeoutMs: number): RetryArguments {
  const wait = `${waitSeconds(timeoutMs)}s`;
  return { retry_count: RETRIES, min_backoff_duration: wait, max_backoff_duration: wait };
}

/** Returns the longest time of all deliveries of an occurrence, with the waits between them, in seconds. */
export function allTriesSeconds(timeoutMs: number): number {
  return (RETRIES + 1) * (timeoutMs / 1_000) + RETRIES * waitSeconds(timeoutMs);
}

function waitSeconds(timeoutMs: number): number {
  return Math.ceil((longestLeaseMs(timeoutMs) + SLACK_MS) / RETRIES / 1_000);
}

/** @throws {Error} unless the schedule has five fields. */
export function checkSchedule(schedule: string): void {
  if (Token.isUnresolved(schedule) || /^\S+( \S+){4}$/.test(schedule)) return;
  throw new Error(`schedule is ${JSON.stringify(schedule)}; it must have five fields, minutes first, as in "0 3 * * *".`);
}

/**
 * Returns a time limit in seconds. @throws {Error} unless it is whole seconds within the limits. `why` gives the reason of the
 * limits.
 */
export function wholeSeconds(timeoutMs: number, [least, most]: readonly [number, number], why: string): number {
  if (Token.isUnresolved(timeoutMs)) throw new Error("timeoutMs is not known when this is synthesized; it must be.");
  if (Number.isInteger(timeoutMs / 1_000) && timeoutMs >= least && timeoutMs <= most) return timeoutMs / 1_000;
  throw new Error(`timeoutMs is ${timeoutMs}; it must be whole seconds, from ${least} to ${most}: ${why}.`);
}

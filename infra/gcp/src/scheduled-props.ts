import { Token } from "cdktn";
import type { CandidateProps } from "./candidate-props.ts";
import type { RetryArguments } from "./google/scheduler.ts";

/** What a function and a job on a schedule have in common. */
export interface ScheduledProps extends CandidateProps {
  /** The elections, or the schedules' names, that gate its work. Its program finds the first in `ELECTION`. */
  readonly elections: readonly string[];
  /**
   * 1 to 49 lower-case letters, digits and hyphens. It is the name of the schedule, too, by which `oncePerTick` knows an
   * occurrence: give it the same in every region.
   */
  readonly name: string;
  /**
   * 6 to 22 lower-case letters, digits and hyphens; of its service account, and with `-invoker` of the schedule's. A project
   * has an account once: two regions need one each.
   * @default - the name
   */
  readonly accountId?: string;
  /** A region of Cloud Run and of Cloud Scheduler. */
  readonly location: string;
  /** When: five fields, as in `0 3 * * *`. Its program finds it in `LEADER_SCHEDULE`. */
  readonly schedule: string;
  /** @default "Etc/UTC" */
  readonly timeZone?: string;
}

/** The most that Cloud Scheduler makes. */
export const RETRIES = 5;
/** The term of an invocation is valid a second longer than its timeout, and a tenth of its lease is kept back: see `timeBudget` of @leasehold/functions. */
const LATE_END_MS = 1_000;
const VALID_SHARE = 0.9;
/** For a start in a new instance, and for a clock that runs slower. */
const SLACK_MS = 60_000;

/**
 * Retries that reach past the lease: a delivery that finds the claim of one that has died fails, so that the last retry has to come
 * when the lease is over. They come at even distances, since doubling ones are over after some minutes.
 * @param timeoutMs the longest that a delivery may take, for which it has its lease.
 */
export function retriesPastLease(timeoutMs: number): RetryArguments {
  const wait = `${waitSeconds(timeoutMs)}s`;
  return { retry_count: RETRIES, min_backoff_duration: wait, max_backoff_duration: wait };
}

/** How long all deliveries of an occurrence may take, with what is waited between them, in seconds. */
export function allTriesSeconds(timeoutMs: number): number {
  return (RETRIES + 1) * (timeoutMs / 1_000) + RETRIES * waitSeconds(timeoutMs);
}

function waitSeconds(timeoutMs: number): number {
  const leaseMs = (timeoutMs + LATE_END_MS) / VALID_SHARE;
  return Math.ceil((leaseMs + SLACK_MS) / RETRIES / 1_000);
}

/** @throws {Error} for what is no schedule of five fields. */
export function checkSchedule(schedule: string): void {
  if (Token.isUnresolved(schedule) || /^\S+( \S+){4}$/.test(schedule)) return;
  throw new Error(`schedule is ${JSON.stringify(schedule)}; it must have five fields, minutes first, as in "0 3 * * *".`);
}

/** The seconds of a time limit. @throws {Error} unless it is whole seconds within the limits, of which `why` says whose they are. */
export function wholeSeconds(timeoutMs: number, [least, most]: readonly [number, number], why: string): number {
  if (Token.isUnresolved(timeoutMs)) throw new Error("timeoutMs is not known when this is synthesized; it must be.");
  if (Number.isInteger(timeoutMs / 1_000) && timeoutMs >= least && timeoutMs <= most) return timeoutMs / 1_000;
  throw new Error(`timeoutMs is ${timeoutMs}; it must be whole seconds, from ${least} to ${most}: ${why}.`);
}

import { ConfigurationError } from "@leasehold/core";
import { systemClock } from "@leasehold/core/provider";
import type { CronJob, CronTime } from "cron";

/** The longest time between two ticks: nine years. cron looks ahead, and this search looks back, for at most this time. */
const LONGEST_PERIOD_MS = 9 * 366 * 86_400_000;
/** The limit of calls of cron for one tick. About forty are enough. */
const MOST_STEPS = 1_000;

/**
 * Returns the time at which the tick that a job has just fired was due, in milliseconds since the Unix epoch. It is the last time
 * of the schedule at or before the time of firing. A job of one date was due at that date.
 * @throws {ConfigurationError} for a schedule that was never due.
 */
export function dueOf(job: Pick<CronJob, "cronTime" | "lastDate">): number {
  const { cronTime } = job;
  // `sendAt` throws for a past date, and the date is past when the job fires.
  const { source } = cronTime;
  if (typeof source !== "string") return source.toMillis();
  // A job that is fired by hand may have no `lastDate`.
  return lastDueMs(cronTime, job.lastDate()?.getTime() ?? systemClock.wallMs());
}

/**
 * Returns the time at which the tick before another one was due. A job of one date has no earlier tick.
 * @throws {ConfigurationError} for a schedule that was not due in the nine years before.
 */
export function previousDueOf({ cronTime }: Pick<CronJob, "cronTime">, scheduledMs: number): number {
  return cronTime.realDate ? -Infinity : lastDueMs(cronTime, scheduledMs - 1);
}

/**
 * Searches the last time before `nowMs`. cron can only look forward, so the search starts in the past and comes closer to the
 * present.
 * @throws what cron throws for a schedule that is never due.
 */
function lastDueMs(cronTime: CronTime, nowMs: number): number {
  const anyTime = cronTime.sendAt();
  // Use the time zone of the job's own timer.
  const nextMs = (afterMs: number): number =>
    cronTime.getNextDateFrom(anyTime.minus({ milliseconds: anyTime.toMillis() - afterMs })).toMillis();
  let backMs = 1_000;
  while (backMs < LONGEST_PERIOD_MS && nextMs(nowMs - backMs) > nowMs) backMs *= 2;
  let dueMs = nextMs(nowMs - backMs);
  /** No tick was due between this time and the present. */
  let quietMs = nowMs;
  for (let step = 0; step < MOST_STEPS && dueMs <= nowMs; step += 1) {
    const afterMs = nextMs(dueMs);
    if (afterMs > nowMs) return dueMs;
    const middleMs = (afterMs + quietMs) / 2;
    const laterMs = nextMs(middleMs);
    if (laterMs > nowMs) quietMs = middleMs;
    dueMs = laterMs > nowMs ? afterMs : laterMs;
  }
  throw new ConfigurationError(
    `cron gives no last time of the schedule '${String(cronTime.source)}'. Pass the time of each tick to oncePerOccurrence.`,
  );
}

import { ConfigurationError, systemClock } from "@leasehold/core";
import type { CronJob, CronTime } from "cron";

/** The years that cron looks ahead, and that a schedule may have to be looked for in the past. */
const LONGEST_PERIOD_MS = 9 * 366 * 86_400_000;
/** The number of times that cron is asked for one tick: some forty are enough. */
const MOST_STEPS = 1_000;

/**
 * Returns when the tick that a job has just fired was due, in milliseconds since the Unix epoch: the last time of its schedule at
 * or before that. A job of one date was due at that date.
 * @throws {ConfigurationError} for a schedule that was never due.
 */
export function dueOf(job: Pick<CronJob, "cronTime" | "lastDate">): number {
  const { cronTime } = job;
  // `sendAt` throws for a date that is past, as it is when the job fires.
  const { source } = cronTime;
  if (cronTime.realDate && typeof source !== "string") return source.toMillis();
  // One that is fired by hand may never have fired before.
  return lastDueMs(cronTime, job.lastDate()?.getTime() ?? systemClock.wallMs());
}

/**
 * cron can only look forward: so from far enough back, and then ever closer to the present.
 * @throws what cron throws of a schedule that is never due.
 */
function lastDueMs(cronTime: CronTime, nowMs: number): number {
  const anyTime = cronTime.sendAt();
  // In the zone that the job's own timer goes by.
  const nextMs = (afterMs: number): number =>
    cronTime.getNextDateFrom(anyTime.minus({ milliseconds: anyTime.toMillis() - afterMs })).toMillis();
  let backMs = 1_000;
  while (backMs < LONGEST_PERIOD_MS && nextMs(nowMs - backMs) > nowMs) backMs *= 2;
  let dueMs = nextMs(nowMs - backMs);
  /** Nothing was due from here to the present. */
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
    `cron tells no last time of the schedule '${String(cronTime.source)}'. Pass the time of each tick to oncePerOccurrence.`,
  );
}

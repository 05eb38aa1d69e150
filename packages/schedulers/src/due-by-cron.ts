import { systemClock } from "@leasehold/core";
import type { CronJob, CronTime } from "cron";

/**
 * Returns when the tick that a job has just fired was due, in milliseconds since the Unix epoch: the last time of its schedule at
 * or before that.
 */
export function dueOf(job: Pick<CronJob, "cronTime" | "lastDate">): number {
  const { cronTime } = job;
  // One that is fired by hand may never have fired before.
  const firedMs = job.lastDate()?.getTime() ?? systemClock.wallMs();
  return cronTime.realDate ? cronTime.sendAt().toMillis() : lastDueMs(cronTime, firedMs);
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
  while (nextMs(nowMs - backMs) > nowMs) backMs *= 2;
  let dueMs = nextMs(nowMs - backMs);
  /** Nothing was due from here to the present. */
  let quietMs = nowMs;
  for (;;) {
    const afterMs = nextMs(dueMs);
    if (afterMs > nowMs) return dueMs;
    const middleMs = (afterMs + quietMs) / 2;
    const laterMs = nextMs(middleMs);
    if (laterMs > nowMs) quietMs = middleMs;
    dueMs = laterMs > nowMs ? afterMs : laterMs;
  }
}

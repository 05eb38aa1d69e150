import type { LeaseStore } from "@leasehold/core";
import { oncePerTick } from "@leasehold/schedulers/cron";
import { CronJob } from "cron";

declare const store: LeaseStore;
declare function closeTheBooks(scheduledMs: number, options: { signal: AbortSignal }): Promise<void>;

const job = CronJob.from({
  cronTime: "0 3 * * *",
  timeZone: "Etc/UTC",
  onTick: oncePerTick({ store, name: "close-the-books" }, async ({ occurrence, signal }) => {
    await closeTheBooks(occurrence.scheduledMs, { signal });
  }),
  start: true,
});

export const jobs = [job];

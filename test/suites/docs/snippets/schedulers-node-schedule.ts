import type { EventEmitter } from "node:events";
import type { LeaseStore } from "@leasehold/core";
import { oncePerTick } from "@leasehold/schedulers/node-schedule";

declare const store: LeaseStore;
declare function closeTheBooks(scheduledMs: number, options: { signal: AbortSignal }): Promise<void>;
// Of node-schedule.
declare function scheduleJob(rule: { rule: string; tz: string }, job: (fireDate: Date) => unknown): EventEmitter;

const books = oncePerTick({ store, name: "close-the-books" }, async ({ occurrence, signal }) => {
  await closeTheBooks(occurrence.scheduledMs, { signal });
});
scheduleJob({ rule: "0 3 * * *", tz: "Etc/UTC" }, books).on("error", (error) => console.error(error));

export const jobs = [books];

import type { LeaseStore } from "@leasehold/core";
import { oncePerTick } from "@leasehold/schedulers/croner";
import { Cron } from "croner";

declare const store: LeaseStore;
declare function closeTheBooks(scheduledMs: number, options: { signal: AbortSignal }): Promise<void>;

const books = oncePerTick({ store, name: "close-the-books" }, async ({ occurrence, signal }) => {
  await closeTheBooks(occurrence.scheduledMs, { signal });
});
const job = new Cron("0 3 * * *", { timezone: "Etc/UTC", catch: (error) => console.error(error) }, books);

export const jobs = [job];

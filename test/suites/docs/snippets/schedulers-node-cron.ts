import { oncePerTick, RunClaims } from "@leasehold/schedulers/node-cron";
import { SqlLeaseStore } from "@leasehold/sql";
import { schedule } from "node-cron";

declare const stop: AbortController;
declare function closeTheBooks(scheduled: number | Date, options: { signal: AbortSignal }): Promise<void>;
declare const run: () => Promise<void>;

const store = new SqlLeaseStore({ postgres: process.env["DATABASE_URL"] ?? "" });
const books = oncePerTick({ store, name: "close-the-books", signal: stop.signal }, async ({ occurrence, signal }) => {
  await closeTheBooks(occurrence.scheduledMs, { signal });
});
schedule("0 3 * * *", books, { timezone: "Etc/UTC" });

const runCoordinator = new RunClaims({ store });
schedule("0 3 * * *", run, { name: "close-the-books", distributed: true, runCoordinator });

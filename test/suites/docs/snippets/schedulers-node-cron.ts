import { oncePerTick } from "@leasehold/schedulers/node-cron";
import { SqlLeaseStore } from "@leasehold/sql";
import { schedule } from "node-cron";

declare function closeTheBooks(scheduled: number | Date, options: { signal: AbortSignal }): Promise<void>;

const store = new SqlLeaseStore({ postgres: process.env["DATABASE_URL"] ?? "" });
await store.migrate();
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
const books = oncePerTick({ store, name: "close-the-books", signal: stop.signal }, async ({ occurrence, signal }) => {
  await closeTheBooks(occurrence.scheduledMs, { signal });
});
schedule("0 3 * * *", books, { timezone: "Etc/UTC" });

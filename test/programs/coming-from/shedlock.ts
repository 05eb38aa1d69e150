import { DatabaseSync } from "node:sqlite";
import { MemoryLeaseStore, oncePerOccurrence } from "@leasehold/core";

const DAY_MS = 86_400_000;
const LOCK_AT_LEAST_FOR_MS = 60_000;
const LOCK_AT_MOST_FOR_MS = 600_000;
const BEHIND_MS = 120_000;

/**
 * ShedLock is for Java. This runs the statements of its JDBC provider with `usingDbTime()`, for a short job that is due at the same
 * time on two nodes. The clock of the second node is behind. Returns how often each way does the tick.
 */
export async function runsByShedLock(): Promise<{ readonly theirs: number; readonly ours: number }> {
  const dueMs = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const beginnings = [dueMs, dueMs + BEHIND_MS];
  using database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE shedlock (name TEXT PRIMARY KEY, lock_until INTEGER NOT NULL)");
  database.exec("INSERT INTO shedlock VALUES ('billing', 0)");
  const lock = database.prepare("UPDATE shedlock SET lock_until = ? WHERE name = 'billing' AND lock_until <= ?");
  const unlock = database.prepare("UPDATE shedlock SET lock_until = ? WHERE name = 'billing'");
  let theirs = 0;
  for (const nowMs of beginnings) {
    if (lock.run(nowMs + LOCK_AT_MOST_FOR_MS, nowMs).changes === 0) continue;
    theirs += 1;
    unlock.run(nowMs + LOCK_AT_LEAST_FOR_MS);
  }

  const store = new MemoryLeaseStore();
  let ours = 0;
  const job = (): void => {
    ours += 1;
  };
  for (const _ of beginnings) await oncePerOccurrence({ store, name: "billing", scheduledAt: new Date(dueMs) }, job);
  return { theirs, ours };
}

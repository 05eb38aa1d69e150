import { setTimeout as delay } from "node:timers/promises";
import { Elector } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
import { inTransaction, openFile } from "@leasehold/test-kit/stores/sqlite-file";

/**
 * A candidate that leads while its process lives, and adds a row to the user's table in each guarded transaction. Arguments:
 * `<file> <election> <candidateId> <how often to resign, 0 for never>`.
 */
const [file = "", election = "", candidateId = "", resigns = "0"] = process.argv.slice(2);
// This process must not outlive the test.
process.on("disconnect", () => process.exit());
const store = new SqlLeaseStore({ sqlite: file });
const elector = new Elector({ store, election, candidateId, leaseDurationMs: 4_000, retryPeriodMs: 100, cooldownMs: 0 });
const database = openFile(file, 2_000);
process.send?.("ready");
await elector.run(async (leadership) => {
  process.send?.({ candidateId, term: leadership.term });
  const untilMs = Number(resigns) > 0 ? performance.now() + Number(resigns) : Infinity;
  while (!leadership.signal.aborted && performance.now() < untilMs) {
    await inTransaction(database, async () => {
      await store.fence(leadership, database);
      database.prepare("INSERT INTO writes (term, who) VALUES (?, ?)").run(leadership.term, candidateId);
    }).catch(() => undefined);
    await delay(5 * Math.random());
  }
});

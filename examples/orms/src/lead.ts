import { setTimeout as delay } from "node:timers/promises";
import { Elector, type Leadership } from "@leasehold/core";
import { isFenced, SqlLeaseStore } from "@leasehold/sql";

export const url = process.env["DATABASE_URL"] ?? "postgresql://postgres@127.0.0.1:5432/postgres";
/** The time for which others wait after the last sign of life of a leader. */
const leaseDurationMs = Number(process.env["LEASE_DURATION_MS"] ?? 5_000);
/** The bill before which this process freezes itself, if there is one. */
const freezeAt = Number(process.env["FREEZE_AT"]);

/** The leases are in the same database as the bills, because one transaction has to cover both. */
export const store = new SqlLeaseStore({ postgres: url });

/**
 * Campaigns, writes three bills as the leader, and ends.
 * @param bill writes one bill in a fenced transaction.
 * @param close closes the ORM's connections.
 */
export async function lead(bill: (leadership: Leadership) => Promise<unknown>, close: () => Promise<unknown>): Promise<void> {
  const elector = new Elector({ store, election: "bills", leaseDurationMs });
  try {
    console.log("campaigns");
    await using leadership = await elector.campaign();
    for (const number of [1, 2, 3]) {
      leadership.signal.throwIfAborted();
      if (number === freezeAt) await freeze();
      await bill(leadership);
      console.log(`term ${leadership.term}: wrote bill ${number}`);
    }
  } catch (error) {
    process.exitCode = 1;
    // Another process leads. If this one was frozen, its signal may not have aborted yet.
    if (isFenced(error)) console.log("the database refused the bill: another process leads");
    else console.error(error instanceof Error ? error.message : error);
  } finally {
    await close();
    await store.close();
  }
}

/** Stops this process until another one sends SIGCONT. */
async function freeze(): Promise<void> {
  process.kill(process.pid, "SIGSTOP");
  await delay(20);
}

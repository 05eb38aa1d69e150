// A member of a fleet on a SQLite file, in a process of its own: node worker.ts FILE NAME LOG. It counts under the fences.

import { appendFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { isLeaseholdError } from "@leasehold/core";
import { Fleet, type Shard } from "@leasehold/fleet";
import { SqlLeaseStore } from "@leasehold/sql";

const [file = "", name = "", log = ""] = process.argv.slice(2);
const database = new DatabaseSync(file, { timeout: 2_000 });
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
const store = new SqlLeaseStore({ sqlite: file });
const fleet = new Fleet({
  store,
  fleet: "chaos",
  shards: 12,
  memberId: name,
  leaseDurationMs: 8_000,
  settleMs: 4_000,
  gatherMs: 1_000,
  drainTimeoutMs: 4_000,
  logger: false,
});

/** The kernel's clock, which all processes of the machine share. */
const nowMs = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000;

function note(line: object): void {
  appendFileSync(log, `${JSON.stringify(line)}\n`);
}

/** One unit of work. It is noted if the shard was valid at both ends. */
async function work(shard: Shard): Promise<void> {
  const fromMs = nowMs();
  if (!shard.isValid()) return;
  try {
    database.exec("BEGIN IMMEDIATE");
    await store.fence(shard, database);
    const add = database.prepare("INSERT INTO ledger (shard, term, member) VALUES (?, ?, ?)");
    add.run(shard.name, shard.term, name);
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    if (isLeaseholdError(error, "FENCED")) note({ refused: shard.name, term: shard.term });
    return;
  }
  note({ wrote: shard.name, term: shard.term });
  const untilMs = nowMs();
  if (shard.isValid()) note({ worked: shard.name, term: shard.term, fromMs, untilMs });
}

process.on("SIGTERM", () => void fleet.stop().then(() => process.exit(0)));

// One connection serves all shards of this process, so their units take turns.
let turn: Promise<void> = Promise.resolve();
await fleet.run(async (shard) => {
  note({ began: shard.name, term: shard.term, atMs: nowMs() });
  while (!shard.signal.aborted) {
    turn = turn.then(() => work(shard));
    await turn;
    await wait(40, undefined, { signal: shard.signal }).catch(() => undefined);
  }
});

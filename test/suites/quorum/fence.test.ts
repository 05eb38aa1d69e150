/** A member's own fence, decided by SQLite, with leaders that a quorum has elected. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { MemoryRecordStore, type Lease, type RecordStore } from "@leasehold/core/provider";
import { QuorumLeaseStore } from "@leasehold/quorum";
import { SqlLeaseStore } from "@leasehold/sql";
import { expect, onTestFinished, test } from "vitest";

const election = "nightly-billing";
const LIMITS = { timeoutMs: 5_000 };
const TIMES = { leaseDurationMs: 60_000, renewIntervalMs: 20_000, ...LIMITS };

/** A member that accepts only a number of writes of one process. */
function taking(records: RecordStore, writes: number): RecordStore {
  let left = writes;
  return {
    name: records.name,
    capabilities: records.capabilities,
    get: (name, options) => records.get(name, options),
    put: async (name, record, options) => {
      if (left === 0) throw new Error("no connection");
      left -= 1;
      return await records.put(name, record, options);
    },
  };
}

test("once it has sealed a member, a leader's guarded write passes there after a loser's accept of a later term, and nobody else's does", async () => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-quorum-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "data.db");
  const sqlite = new SqlLeaseStore({ sqlite: path });
  onTestFinished(() => sqlite.close());
  const others = { b: new MemoryRecordStore(), c: new MemoryRecordStore() };
  const data = new DatabaseSync(path);
  onTestFinished(() => data.close());
  data.exec("CREATE TABLE work (term INTEGER)");
  const guardedWrite = async (lease: Lease): Promise<void> => {
    data.exec("BEGIN");
    try {
      await sqlite.fence(lease, data);
      data.prepare("INSERT INTO work VALUES (?)").run(lease.term);
      data.exec("COMMIT");
    } catch (error) {
      data.exec("ROLLBACK");
      throw error;
    }
  };

  const store = new QuorumLeaseStore({ members: { a: sqlite, ...others } });
  const first = await store.acquire({ election, candidateId: "first", ...TIMES });
  if (!first.acquired) return expect.fail("Nobody else competes.");
  await store.seal(first.lease, "a");
  await guardedWrite(first.lease);
  await store.release(first.lease, LIMITS);

  // Its prepares arrive everywhere, and its accept of the highest term only at SQLite.
  const [b, c] = [taking(others.b, 1), taking(others.c, 1)];
  const loser = new QuorumLeaseStore({ members: { a: sqlite, b, c } });
  const minTerm = Number.MAX_SAFE_INTEGER;
  const losing = { election, candidateId: "loser", minTerm, ...TIMES };
  await expect(loser.acquire(losing)).rejects.toMatchObject({ mayHaveBeenApplied: true });
  const lost = (await sqlite.records.get(election, { consistent: true, signal: new AbortController().signal }))?.data as Lease;
  expect(lost).toMatchObject({ term: minTerm });

  const down = taking(sqlite.records, 0);
  const winner = new QuorumLeaseStore({ members: { a: { ...down, get: () => Promise.reject(new Error("down")) }, ...others } });
  const second = await winner.acquire({ election, candidateId: "second", ...TIMES });
  expect(second).toMatchObject({ acquired: true, lease: { term: 2 } });
  if (!second.acquired) return;

  await store.seal(second.lease, "a");
  await guardedWrite(second.lease);
  await expect(guardedWrite({ ...first.lease, term: minTerm, termId: lost.termId })).rejects.toMatchObject({ code: "FENCED" });
  await expect(guardedWrite(first.lease)).rejects.toMatchObject({ code: "FENCED" });
  expect(data.prepare("SELECT term FROM work ORDER BY rowid").all()).toMatchObject([{ term: 1 }, { term: 2 }]);
});

/** A quorum of a SQL server and two files. The server's rows are restored to an earlier state, like a restored backup. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Lease } from "@leasehold/core/provider";
import { QuorumLeaseStore } from "@leasehold/quorum";
import { SqlLeaseStore } from "@leasehold/sql";
import { ELECTION, win } from "@leasehold/test-kit/acquisitions";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { expect, onTestFinished } from "vitest";
import { describeDatabases, SERVERS, type SqlWorld } from "../../../packages/sql/test/sql-world.ts";

/** Longer than any test. */
const HELD = { leaseDurationMs: 600_000, renewIntervalMs: 200_000 };
/** A request to a member has a quarter of this time. */
const LIMITS = { timeoutMs: 60_000 };
const TABLES = ["leasehold_leases", "leasehold_fences"] as const;

/** A process's own stores. */
interface Process {
  readonly store: QuorumLeaseStore;
  readonly server: SqlLeaseStore;
}

async function membersWith(world: SqlWorld) {
  const folder = await memoryFolder("leasehold-quorum-rows-");
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = (...path: readonly string[]): SqlLeaseStore => {
    const store = new SqlLeaseStore({ sqlite: join(folder, ...path) });
    onTestFinished(() => store.close());
    return store;
  };
  return {
    open: ({ withoutOne = false } = {}): Process => {
      const server = world.store();
      const one = withoutOne ? file("nowhere", "one.db") : file("one.db");
      return { server, store: new QuorumLeaseStore({ members: { server, one, other: file("other.db") }, logger: false }) };
    },
    backUp: async () => {
      for (const table of TABLES) await world.run(`CREATE TABLE copied_${table} AS SELECT * FROM ${table}`);
    },
    restore: async () => {
      await world.run("BEGIN");
      for (const table of TABLES) {
        await world.run(`DELETE FROM ${table}`);
        await world.run(`INSERT INTO ${table} SELECT * FROM copied_${table}`);
      }
      await world.run("COMMIT");
    },
    termAtServer: async () => (await world.leaseRow(ELECTION))?.["term"],
    guardedWrite: async ({ server }: Process, lease: Lease): Promise<void> => {
      const session = await world.session();
      await session.run("BEGIN");
      try {
        await server.fence(lease, session.connection as never);
      } finally {
        await session.rollback();
      }
    },
  };
}

await describeDatabases(SERVERS, (test) => {
  test("a member whose rows are put back costs the leader nothing, counts for nobody before it is written anew, and fences then", async ({
    world,
  }) => {
    const { open, backUp, restore, termAtServer, guardedWrite } = await membersWith(world);
    const one = open();
    const first = await win(one.store, HELD);
    await one.store.seal(first, "server", LIMITS);
    await guardedWrite(one, first);
    await backUp();
    await one.store.release(first, LIMITS);
    const two = open();
    const second = await win(two.store, HELD);
    await two.store.seal(second, "server", LIMITS);
    await expect(guardedWrite(one, first)).rejects.toMatchObject({ code: "FENCED" });
    await restore();
    expect(await termAtServer()).toBe(1);

    await expect(
      open({ withoutOne: true }).store.acquire({ election: ELECTION, candidateId: "b", ...HELD, ...LIMITS }),
    ).rejects.toThrow(/No majority .* server: it has forgotten what it had promised/);
    expect(await one.store.renew(first, LIMITS)).toMatchObject({ held: false });
    expect(await open().store.read(ELECTION, LIMITS)).toMatchObject({ holder: "a", term: 2 });

    while ((await termAtServer()) !== 2) expect(await two.store.renew(second, LIMITS)).toMatchObject({ held: true });
    await two.store.seal(second, "server", LIMITS);
    await guardedWrite(two, second);
    await expect(guardedWrite(one, first)).rejects.toMatchObject({ code: "FENCED", currentTerm: 2 });
    expect(await open({ withoutOne: true }).store.read(ELECTION, LIMITS)).toMatchObject({ holder: "a", term: 2 });
    expect(await two.store.release(second, LIMITS)).toBe("released");
    expect(await win(open({ withoutOne: true }).store)).toMatchObject({ term: 3 });
  });
});

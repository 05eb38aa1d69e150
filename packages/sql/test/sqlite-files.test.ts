/** The files that a SQLite store opens, by what Node is asked to do with them. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock, type Clock } from "@leasehold/core";
import { afterEach, expect, vi } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { openFile } from "@leasehold/test-kit/stores/sqlite-file";
import { SqliteDatabase } from "../src/sqlite/sqlite-database.ts";
import { describeDatabases, recordOf, type SqlWorld } from "./sql-world.ts";

afterEach(() => void vi.restoreAllMocks());

const { signal } = new AbortController();

/** The file of the leases, as somebody else opens it. */
function leasesOf(world: SqlWorld): DatabaseSync {
  const leases = openFile(`${world.place}-leasehold`, 5_000);
  world.onEnd(async () => leases.close());
  return leases;
}

await describeDatabases(["sqlite"], (test) => {
  test("are opened once for all calls, and every commit is on the disk", async ({ world }) => {
    const exec = vi.spyOn(DatabaseSync.prototype, "exec");
    const store = world.store();
    await Promise.all([1, 2, 3].map(() => store.read(world.election)));
    // However this SQLite was compiled: many a system's own has another default.
    const pragmas = exec.mock.calls.map(([sql]) => sql).filter((sql) => sql.startsWith("PRAGMA"));
    expect(pragmas).toEqual(["PRAGMA synchronous = FULL", "PRAGMA fenced.synchronous = FULL"]);
  });

  test("are closed when close() has resolved, also if they were only being opened", async ({ world }) => {
    const close = vi.spyOn(DatabaseSync.prototype, "close");
    const store = world.store();
    const reading = failureOf(store.read(world.election));
    await store.close();
    expect(close).toHaveBeenCalledTimes(1);
    await expect(reading).resolves.toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("was closed") });
  });

  test("that could not be opened are left closed, and the next call tries again", async ({ world }) => {
    const close = vi.spyOn(DatabaseSync.prototype, "close");
    const folder = `${world.place}-folder`;
    const store = world.store(join(folder, "a.db"));
    await expect(store.read(world.election)).rejects.toMatchObject({ code: "STORE_MISSING" });
    await mkdir(folder);
    // The leases can be opened now; but the data is no database.
    await mkdir(join(folder, "a.db"));
    await expect(store.read(world.election)).rejects.toMatchObject({ code: "STORE_MISSING" });
    expect(close).toHaveBeenCalledTimes(1);

    await rm(join(folder, "a.db"), { recursive: true });
    await expect(store.read(world.election)).resolves.toBeUndefined();
  });

  test("are committed at one instant, since neither is put in WAL mode where the user's is not", async ({ world }) => {
    const store = world.store();
    await store.release(await world.win(store), LIMITS);
    expect(leasesOf(world).prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "delete" });
  });

  test("nothing is written by a call that was given up while they were opened", async ({ world }) => {
    const rows = world.rows();
    const abort = new AbortController();
    const put = rows.put(world.election, recordOf(), { ifVersion: undefined, keepsNonce: false, signal: abort.signal });
    abort.abort(new Error("given up"));
    await expect(put).rejects.toThrow("given up");
    await expect(rows.get(world.election, { signal, consistent: true })).resolves.toBeUndefined();
  });

  test.for([
    [0, 5],
    [1, 10],
  ] as const)(
    "that are locked are tried again after half of 10 ms and a random part of the rest: %d",
    async ([random, waitMs], { world }) => {
      await world.store().migrate();
      const waits: number[] = [];
      const leases = leasesOf(world);
      const clock: Clock = {
        ...systemClock,
        random: () => random,
        setTimer: (callback, delayMs) => {
          waits.push(delayMs);
          if (waits.length === 2) leases.exec("ROLLBACK");
          return systemClock.setTimer(callback, 0);
        },
      };
      const rows = new SqliteDatabase(world.place, clock);
      world.onEnd(() => rows.close());
      await rows.get(world.election, { signal, consistent: true });
      leases.exec("BEGIN EXCLUSIVE");
      await rows.get(world.election, { signal, consistent: true });
      expect(waits).toEqual([waitMs, waitMs]);
    },
  );
});

/** The files that a SQLite store opens, by the calls of Node's API. */
import { spawnSync } from "node:child_process";
import { link, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock, type Clock } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { afterEach, describe, expect, vi } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { inFile, openFile } from "@leasehold/test-kit/stores/sqlite-file";
import { SqliteDatabase } from "../src/sqlite/sqlite-database.ts";
import { describeDatabases, recordOf, type SqlWorld } from "./sql-world.ts";

afterEach(() => void vi.restoreAllMocks());

const { signal } = new AbortController();

/** Prints the code of the error by which the check of a store fails. */
const CHECK = `
import { SqlLeaseStore } from "@leasehold/sql";
const store = new SqlLeaseStore({ sqlite: process.argv[1] });
process.stdout.write(await store.check({ election: "e" }).then(() => "no error", ({ code }) => code));`;

/** Opens the file of the leases as another process does. */
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
    // The statement must be sent in any case, because the defaults of SQLite builds differ.
    const pragmas = exec.mock.calls.map(([sql]) => sql).filter((sql) => sql.startsWith("PRAGMA synchronous"));
    expect(pragmas).toEqual(["PRAGMA synchronous = FULL", "PRAGMA synchronous = FULL"]);
  });

  test("are closed when close() has resolved, also if they were only being opened", async ({ world }) => {
    const close = vi.spyOn(DatabaseSync.prototype, "close");
    const store = world.store();
    const reading = failureOf(store.read(world.election));
    await store.close();
    expect(close).toHaveBeenCalledTimes(2);
    await expect(reading).resolves.toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("was closed") });
  });

  test("are written by a check, so that it fails if the disk has no room", async ({ world }) => {
    const store = world.store();
    await expect(store.check({ election: world.election })).resolves.toMatchObject({ warnings: [] });
    await store.close();
    // To a process whose files may not grow, a write fails as on a full disk.
    const line = [process.execPath, "--conditions=@leasehold/source", "--input-type=module", "-e", CHECK, world.place];
    const { stdout } = spawnSync("/bin/sh", ["-c", 'ulimit -f 1; exec "$@"', "sh", ...line], { cwd: import.meta.dirname });
    expect(String(stdout)).toBe("STORE_UNAVAILABLE");
  });

  test("fail a transaction at once that cannot begin for a lasting reason", async ({ world }) => {
    const clock = new VirtualClock();
    const database = new SqliteDatabase(world.place, clock);
    await database.inspect();
    vi.spyOn(DatabaseSync.prototype, "exec").mockImplementation(() => {
      throw Object.assign(new Error("disk I/O error"), { code: "ERR_SQLITE_ERROR", errcode: 10 });
    });
    const begunMs = clock.monotonicMs();
    await expect(clock.runUntil(database.transaction(() => Promise.resolve("done")))).rejects.toThrow("disk I/O error");
    expect(clock.monotonicMs()).toBe(begunMs);
    await database.close();
  });

  test("that cannot be opened stay closed, and the next call tries again", async ({ world }) => {
    const close = vi.spyOn(DatabaseSync.prototype, "close");
    const folder = `${world.place}-folder`;
    const store = world.store(join(folder, "a.db"));
    await expect(store.read(world.election)).rejects.toMatchObject({ code: "STORE_MISSING" });
    await mkdir(folder);
    // The data can be opened now, but the file of the leases is not a database.
    await mkdir(join(folder, "a.db-leasehold"));
    await expect(store.read(world.election)).rejects.toMatchObject({ code: "STORE_MISSING" });
    expect(close).toHaveBeenCalledTimes(1);

    await rm(join(folder, "a.db-leasehold"), { recursive: true });
    inFile(join(folder, "a.db-leasehold"), (leases) => leases.exec("CREATE TABLE leasehold_leases (election)"));
    close.mockClear();
    await expect(store.read(world.election)).rejects.toMatchObject({ code: "STORE_REJECTED" });
    expect(close).toHaveBeenCalledTimes(2);

    await rm(join(folder, "a.db-leasehold"));
    await expect(store.read(world.election)).resolves.toBeUndefined();
  });

  test("are refused if the file has a second name, which would have leases of its own", async ({ world }) => {
    const other = `${world.place}-hard-link`;
    const file = openFile(world.place);
    file.close();
    await link(world.place, other);
    world.onEnd(() => rm(other, { force: true }));
    for (const name of [world.place, other]) {
      const error = await failureOf(world.store(name).read(world.election));
      expect(error).toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("2 names (hard links)") });
    }
    await rm(other);
    await expect(world.store().read(world.election)).resolves.toBeUndefined();
  });

  test("hold no lock between calls, because the leases are never in WAL mode", async ({ world }) => {
    openFile(world.place).exec("PRAGMA journal_mode = WAL");
    const store = world.store();
    await store.release(await world.win(store), LIMITS);
    expect(leasesOf(world).prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "delete" });
  });

  describe("that were replaced while they were open", () => {
    test.for(["", "-leasehold", "-wal"])(
      "fail one call, and are opened again by the next: app.db%s",
      async (suffix, { world }) => {
        const application = openFile(world.place);
        world.onEnd(async () => application.close());
        application.exec("PRAGMA journal_mode = WAL");
        const store = world.store();
        const lease = await world.win(store);
        await rename(`${world.place}${suffix}`, `${world.place}${suffix}.old`);
        if (suffix === "-wal") await writeFile(`${world.place}-wal`, "");
        const error = await failureOf(store.renew(lease, LIMITS));
        expect(error).toMatchObject({
          code: "STORE_UNAVAILABLE",
          mayHaveBeenApplied: false,
          message: expect.stringContaining(`.db${suffix}' was removed or replaced while it was open`),
        });
        // The fence still has the term of the lost lease.
        if (suffix === "-leasehold") {
          await expect(store.read(world.election)).resolves.toMatchObject({ state: "vacant", term: 1, bar: { kind: "hold" } });
        }
        if (suffix === "-wal") await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
      },
    );

    test("fail every call if the handle is the application's", async ({ world }) => {
      const application = openFile(world.place);
      world.onEnd(async () => application.close());
      const store = world.store(application);
      await store.read(world.election);
      await rename(world.place, `${world.place}.old`);
      for (let calls = 0; calls < 2; calls += 1) {
        await expect(store.read(world.election)).rejects.toMatchObject({
          code: "STORE_UNAVAILABLE",
          message: expect.stringContaining("with a handle of the new file"),
        });
        await writeFile(world.place, "");
      }
    });
  });

  test("wait in SQLite itself for longer with each try, and keep their settings", async ({ world }) => {
    const application = openFile(world.place, 123);
    world.onEnd(async () => application.close());
    const store = world.store(application);
    const lease = await world.win(store);
    const exec = vi.spyOn(application, "exec");
    const other = openFile(world.place);
    world.onEnd(async () => other.close());
    other.exec("BEGIN IMMEDIATE");
    await expect(store.release(lease, { timeoutMs: 5_000 })).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    const waits = exec.mock.calls.flatMap(([sql]) => /busy_timeout = (\d+)/.exec(sql)?.slice(1) ?? []);
    expect(waits.slice(0, 12)).toEqual(["25", "123", "50", "123", "100", "123", "200", "123", "400", "123", "400", "123"]);
    other.exec("ROLLBACK");
    expect(application.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: 123 });
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

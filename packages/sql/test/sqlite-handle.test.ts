/** A SQLite store beside the application: its handle, its locks, its libraries. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ConfigurationError } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
import { expect, vi } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { nodeExecutable } from "@leasehold/test-kit/processes/owned-process";
import { reachesState } from "@leasehold/test-kit/processes/process-state";
import { openFile } from "@leasehold/test-kit/stores/sqlite-file";
import { describeDatabases, type SqlWorld } from "./sql-world.ts";

/** Returns the application's own handle on the file of its data. */
function applicationOf(world: SqlWorld): DatabaseSync {
  const application = openFile(world.place, 5_000);
  application.exec("CREATE TABLE IF NOT EXISTS bills (n)");
  world.onEnd(async () => application.close());
  return application;
}

await describeDatabases(["sqlite"], (test) => {
  test("a store on the application's handle elects with one on the path, and leaves the handle open", async ({ world }) => {
    const application = applicationOf(world);
    const store = world.store(application);
    const lease = await world.win(store);
    await expect(world.store().acquire(world.acquiring())).resolves.toMatchObject({ acquired: false });
    application.exec("BEGIN");
    await store.fence(lease, application);
    application.exec("INSERT INTO bills VALUES (1)");
    application.exec("COMMIT");
    await store.release(lease, LIMITS);
    await store.close();
    expect(application.prepare("SELECT n FROM bills").all()).toEqual([{ n: 1 }]);
  });

  test("a fence passes on a handle that gives each integer as a bigint", async ({ world }) => {
    const application = new DatabaseSync(world.place, { readBigInts: true });
    world.onEnd(async () => application.close());
    const store = world.store(application);
    await expect(store.fencedTransaction(await world.win(store), () => 7)).resolves.toBe(7);
  });

  test("a guarded transaction waits until an exclusive transaction of another handle has ended", async ({ world }) => {
    const application = applicationOf(world);
    const store = world.store();
    const lease = await world.win(store);
    application.exec("BEGIN EXCLUSIVE");
    const transaction = store.fencedTransaction(lease, () => 7);
    setTimeout(() => application.exec("COMMIT"), 100);
    await expect(transaction).resolves.toBe(7);
  });

  test("an acquisition waits until the application's transaction on the handle has ended", async ({ world }) => {
    const application = applicationOf(world);
    const store = world.store(application);
    await store.release(await world.win(store), LIMITS);
    application.exec("BEGIN");
    application.exec("INSERT INTO bills VALUES (1)");
    await expect(store.acquire(world.acquiring({ timeoutMs: 300 }))).rejects.toMatchObject({
      code: "STORE_TIMEOUT",
      message: expect.stringContaining("The application has a transaction under way on the handle that it gave as sqlite."),
    });
    application.exec("ROLLBACK");
    await expect(world.win(store)).resolves.toMatchObject({ term: 2 });
  });

  test("an abort by the caller during a wait for a lock is its own reason, unchanged", async ({ world }) => {
    const application = applicationOf(world);
    application.exec("BEGIN");
    const stop = new AbortController();
    let tries = 0;
    const exec = (sql: string): void => {
      tries += 1;
      if (tries === 3) stop.abort();
      application.exec(sql);
    };
    const store = world.store({ exec, prepare: application.prepare.bind(application) });
    const reason = await failureOf(store.read(world.election, { signal: stop.signal }));
    expect(reason).toBe(stop.signal.reason);
    expect(reason).toMatchObject({ name: "AbortError" });
  });

  test("a handle that is read-only acquires nothing, and says so, to a standby too", async ({ world }) => {
    const lease = await world.win(world.store());
    await world.store().break(world.election, { reason: "r", immediate: true });
    const application = new DatabaseSync(world.place, { readOnly: true });
    world.onEnd(async () => application.close());
    const store = world.store(application);
    await expect(store.read(world.election)).resolves.toMatchObject({ term: lease.term });
    const denied = { code: "STORE_DENIED", message: expect.stringContaining("A handle must not be opened as read-only.") };
    await expect(store.acquire(world.acquiring())).rejects.toMatchObject(denied);
    // A standby's proof that it may write is the same probe.
    await expect(store.check({ election: world.election })).rejects.toMatchObject(denied);
    await expect(world.store().read(world.election)).resolves.toMatchObject({ term: lease.term, state: "vacant" });
  });

  test("a check neither waits for the application's transaction on the handle, nor writes in it", async ({ world }) => {
    const application = applicationOf(world);
    const store = world.store(application);
    await store.read(world.election);
    application.exec("BEGIN");
    application.prepare("SELECT n FROM bills").all();
    await store.check({ election: world.election });
    // A write would have locked out those of others until the end of the transaction.
    applicationOf(world).exec("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK");
    application.exec("ROLLBACK");
  });

  test("a handle whose answers come later is refused", async () => {
    const later = { exec: () => undefined, prepare: () => ({ get: () => Promise.resolve({ file: "a.db" }) }) };
    await using store = new SqlLeaseStore({ sqlite: later });
    await expect(store.read("e")).rejects.toMatchObject({ code: "CONFIGURATION", message: /return no row at once/ });
  });

  test("a handle in memory is refused, and so is an object that is not a handle", async () => {
    using memory = new DatabaseSync(":memory:");
    await using store = new SqlLeaseStore({ sqlite: memory });
    await expect(store.read("e")).rejects.toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("in memory") });
    for (const half of [{ prepare: () => undefined }, { exec: () => undefined }])
      expect(() => new SqlLeaseStore({ sqlite: half as unknown as DatabaseSync })).toThrow(ConfigurationError);
  });

  test("a handle of a remote libsql, and a replica of one, are refused before anything is written", async ({ world }) => {
    const sent: string[] = [];
    const remote = {
      exec: (sql: string) => sent.push(sql),
      prepare: () => ({ get: () => ({ file: "/var/lib/server/data" }) }),
    };
    const refused = { code: "CONFIGURATION", message: expect.stringContaining("remote libsql") };
    await expect(world.store(remote).read(world.election)).rejects.toMatchObject(refused);
    expect(sent).toEqual(["BEGIN", "ROLLBACK"]);

    const replica = applicationOf(world);
    await writeFile(`${world.place}-client_wal_index`, "");
    for (const place of [replica, world.place])
      await expect(world.store(place).read(world.election)).rejects.toMatchObject(refused);
    expect(replica.prepare("SELECT name FROM sqlite_master").all()).toEqual([{ name: "bills" }]);
  });

  test("a handle on a server that does not answer is no transaction of the application's", async ({ world }) => {
    const exec = (): never => {
      throw new Error("http error: connection refused");
    };
    const store = world.store({ exec, prepare: () => undefined });
    await expect(store.read(world.election)).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringContaining("connection refused"),
    });
  });

  test("a fence on a connection without foreign keys is refused, and says how to turn them on", async ({ world }) => {
    const application = applicationOf(world);
    const store = world.store();
    const lease = await world.win(store);
    application.exec("PRAGMA foreign_keys = OFF");
    application.exec("BEGIN");
    const error = await failureOf(store.fence(lease, application));
    expect(error).toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("PRAGMA foreign_keys = ON") });
    application.exec("ROLLBACK");
  });

  test("a lease whose fence cannot be committed is vacated, so that no leader has an old fence", async ({ world }) => {
    const application = applicationOf(world);
    const store = world.store(application);
    await store.release(await world.win(store), LIMITS);
    const exec = application.exec.bind(application);
    let commits = 0;
    vi.spyOn(application, "exec").mockImplementation((sql) => {
      if (sql === "COMMIT" && (commits += 1) === 1) throw Object.assign(new Error("database or disk is full"), { errcode: 13 });
      exec(sql);
    });
    await expect(store.acquire(world.acquiring())).resolves.toMatchObject({
      acquired: false,
      current: { state: "vacant", term: 2 },
    });
    expect(await world.fenceRow()).toMatchObject({ term: 1, term_id: null });
    await expect(world.win(store)).resolves.toMatchObject({ term: 3 });
    expect(await world.fenceRow()).toMatchObject({ term: 3 });
  });

  test("a time-out names the process that was frozen inside a transaction", async ({ world }) => {
    const store = world.store();
    const lease = await world.win(store);
    const script = `const database = new (require("node:sqlite").DatabaseSync)(process.argv[1]);
database.exec("BEGIN IMMEDIATE"); process.kill(process.pid, "SIGSTOP");`;
    const frozen = spawn(nodeExecutable(), ["-e", script, world.place], { stdio: "ignore" });
    world.onEnd(async () => {
      frozen.kill("SIGKILL");
      await once(frozen, "exit");
    });
    await reachesState(frozen.pid!, "stopped");
    const error = await failureOf(store.release(lease, { timeoutMs: 1_000 }));
    expect(error).toMatchObject({ code: "STORE_TIMEOUT" });
    expect(error.message).toMatch(new RegExp(`is locked by process ${frozen.pid}, which is stopped\\.$`));
  });

  test("an acquisition succeeds while other processes read the data without a pause", async ({ world }) => {
    applicationOf(world);
    const script = `const database = new (require("node:sqlite").DatabaseSync)(process.argv[1]);
database.exec("PRAGMA busy_timeout = 60000");
const read = () => { database.exec("BEGIN"); database.prepare("SELECT count(*) FROM bills").get(); process.send?.("reads"); setTimeout(() => { database.exec("COMMIT"); read(); }, 100); };
read();`;
    const readers = [1, 2, 3, 4].map(() =>
      spawn(nodeExecutable(), ["-e", script, world.place], { stdio: ["ignore", "ignore", "ignore", "ipc"] }),
    );
    world.onEnd(async () => {
      for (const reader of readers) reader.kill("SIGKILL");
      await Promise.all(readers.map(async (reader) => once(reader, "exit")));
    });
    await Promise.all(readers.map(async (reader) => once(reader, "message")));
    const store = world.store();
    await expect(world.win(store, { timeoutMs: 60_000 })).resolves.toMatchObject({ term: 1 });
    await expect(
      store.release(await world.win(store, { election: "other", timeoutMs: 60_000 }), { timeoutMs: 60_000 }),
    ).resolves.toBe("released");
  });

  if (process.platform === "linux")
    test("a path that another SQLite library has open in this process is refused before anything is written", async ({
      world,
    }) => {
      // Any native module can serve here, because the check uses its name.
      const require = createRequire(import.meta.url);
      const prebuilds = join(dirname(require.resolve("classic-level/package.json")), "prebuilds/linux-x64");
      const folder = `${world.place}-library`;
      await mkdir(folder);
      world.onEnd(async () => rm(folder, { recursive: true }));
      await copyFile(join(prebuilds, "classic-level.node"), join(folder, "better_sqlite3.node"));
      require(join(folder, "better_sqlite3.node"));
      // A path is accepted if this process has not opened the file otherwise.
      const own = world.store(`${world.place}-own`);
      const lease = await world.win(own);
      for (let transactions = 0; transactions < 3; transactions += 1) await own.fencedTransaction(lease, () => undefined);
      // Handles that the store has closed again do not hide that another library opens the file.
      const later = openFile(`${world.place}-own`);
      world.onEnd(async () => later.close());
      await expect(own.fencedTransaction(lease, () => undefined)).rejects.toMatchObject({ code: "CONFIGURATION" });

      const application = applicationOf(world);
      const error = await failureOf(world.store().read(world.election));
      expect(error).toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("(better_sqlite3.node)") });
      expect(application.prepare("SELECT count(*) AS n FROM sqlite_master WHERE name LIKE 'leasehold%'").get()).toEqual({ n: 0 });
      await expect(world.store(application).read(world.election)).resolves.toBeUndefined();
    });
});

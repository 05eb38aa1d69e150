/**
 * Handles of SQLite libraries other than `node:sqlite`. These files are a project of their own, in which each file
 * has a process. A process that has loaded such a library refuses paths that it has open.
 */
import { existsSync } from "node:fs";
import BetterSqlite from "better-sqlite3";
import { expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { fences, lives } from "../drivers/life-of-a-lease.ts";
import { describeDatabases } from "../sql-world.ts";
import type { ClosableHandle, SqliteLibrary } from "../sqlite-place.ts";
import { BETTER_SQLITE, LIBSQL } from "./sqlite-libraries.ts";

function queryOnly(library: SqliteLibrary) {
  return (path: string): ClosableHandle => {
    const handle = library.open(path);
    handle.exec("PRAGMA query_only = ON");
    return handle;
  };
}

await describeDatabases(["sqlite"], (test) => {
  test.for([BETTER_SQLITE, LIBSQL])(
    "a store on a handle of $name elects with another process's, and fences",
    async (library, { world }) => {
      const [application, other] = [library.open(world.place), library.open(world.place)];
      for (const one of [application, other]) world.onEnd(async () => one.close());
      application.exec("CREATE TABLE guarded (election TEXT)");
      const store = world.store(application);
      await lives(world, store, world.store(other));
      await store.break(world.election, { reason: "r", immediate: true });
      await fences(world, store, {
        query: () => async (sql) => application.exec(sql),
        written: async () => application.prepare("SELECT * FROM guarded").all(),
      });
    },
  );

  test.for([BETTER_SQLITE, LIBSQL])("a handle of $name that was closed says so at once", async (library, { world }) => {
    const application = library.open(world.place);
    const store = world.store(application);
    const lease = await world.win(store);
    application.close();
    const closed = { code: "STORE_REJECTED", message: expect.stringMatching(/ The handle .* is closed\./) };
    await expect(store.release(lease, LIMITS)).rejects.toMatchObject(closed);
    await expect(world.store(application).read(world.election)).rejects.toMatchObject(closed);
  });

  // libsql ignores its option `readonly`: such a handle writes. A pragma makes one that does not.
  const readOnly = [
    { name: "better-sqlite3", open: (path: string) => new BetterSqlite(path, { readonly: true }) as unknown as ClosableHandle },
    ...[BETTER_SQLITE, LIBSQL].map((library) => ({ name: `${library.name} with query_only`, open: queryOnly(library) })),
  ];
  test.for(readOnly)(
    "a handle of $name that is read-only is refused before a file is made, and by a check later",
    async (library, { world }) => {
      new BetterSqlite(world.place).exec("CREATE TABLE bills (n)").close();
      const application = library.open(world.place);
      world.onEnd(async () => application.close());
      const denied = {
        code: "STORE_DENIED",
        message: expect.stringContaining("A handle must not be opened as read-only."),
      };
      await expect(world.store(application).acquire(world.acquiring())).rejects.toMatchObject(denied);
      expect(existsSync(`${world.place}-leasehold`)).toBe(false);

      const writable = BETTER_SQLITE.open(world.place);
      world.onEnd(async () => writable.close());
      await world.win(world.store(writable));
      await expect(world.store(application).check({ election: world.election })).rejects.toMatchObject(denied);
    },
  );

  test.for([BETTER_SQLITE, LIBSQL])(
    "a handle of $name inside the application's transaction says so",
    async (library, { world }) => {
      const application = library.open(world.place);
      world.onEnd(async () => application.close());
      application.exec("BEGIN");
      await expect(world.store(application).acquire(world.acquiring({ timeoutMs: 300 }))).rejects.toMatchObject({
        code: "STORE_TIMEOUT",
        message: expect.stringContaining("a transaction under way on the handle"),
      });
      application.exec("ROLLBACK");
      expect(existsSync(`${world.place}-leasehold`)).toBe(false);
    },
  );

  test.for([BETTER_SQLITE, LIBSQL])("a path that $name has open in this process is refused", async (library, { world }) => {
    const application = library.open(world.place);
    world.onEnd(async () => application.close());
    application.exec("CREATE TABLE bills (n)");
    const error = await failureOf(world.store().read(world.election));
    expect(error).toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("another SQLite library") });
    expect(application.prepare("SELECT count(*) AS n FROM sqlite_master").get()).toMatchObject({ n: 1 });
  });
});
